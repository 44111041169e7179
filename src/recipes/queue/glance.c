#include "recipes/queue/claims.h"

/*
 * A process that watches what comes in is told by the watch on a lane's last bucket that an item
 * was put there without a transaction (plain.c). But the watch is used up by each ack of another
 * process, too. So the bucket is listed, which leaves a watch again, and the process looks for
 * items (look.c) only if znodes were created since the last listing: the server counts them.
 *
 * While others ack and nobody puts, a long bucket would be listed again and again. So behind such a
 * listing there is a pause, the longer the more names it had; with several lanes the longest. A
 * caller that only tries does not wait for that, but it gets its answer after one such round.
 *
 * What can go wrong: the bucket is gone, or the listing fails: look for items.
 */

#define PAUSE_US 100 /* for each name that was listed in vain */

static void next_lane(struct zr_task *task);

static struct zr_consumer *consumer_of(struct zr_task *task)
{
    return &zr_queue_of(task)->consumer;
}

void zr_newest_list(struct zr_task *task, struct zr_lane *lane, int64_t bucket, struct zr_next next)
{
    char name[ZR_BUCKET_NAME];
    if (lane->watched != bucket)
        zr_lookout_part(&lane->newest);
    lane->watched = bucket;
    lane->newest.glance = true;
    zr_lookout_read(task, &lane->newest, ZR_OP_CHILDREN, lane->path, zr_bucket_name(bucket, name),
                    next);
}

bool zr_newest_listed(struct zr_task *task, struct zr_lane *lane)
{
    const struct zr_stat *stat = &task->call->request.stat;
    int64_t before = lane->creates;
    if (task->outcome != ZR_OK) {
        lane->newest.stands = false; /* a listing leaves no watch if there is nothing to list */
        lane->creates = -1;
        return true;
    }
    lane->creates = ((int64_t)stat->cversion + stat->child_count) / 2;
    return lane->creates != before;
}

/* ---- A lane -------------------------------------------------------------------------------- */

static void over(struct zr_task *task)
{
    struct zr_consumer *consumer = consumer_of(task);
    consumer->asking = false;
    consumer->glanced(task);
}

static void listed(struct zr_task *task)
{
    struct zr_consumer *consumer = consumer_of(task);
    if (zr_newest_listed(task, consumer->look.lane)) {
        consumer->glance_at_us = 0;
        consumer->events++;
        over(task);
        return;
    }
    int64_t pause_us = (int64_t)task->call->request.stat.child_count * PAUSE_US;
    int64_t at_us = zr_engine_now_us(task->session->engine) + pause_us;
    if (at_us > consumer->glance_at_us)
        consumer->glance_at_us = at_us;
    next_lane(task);
}

/* The next lane whose watch is used up; or null. */
static struct zr_lane *find_lane(const struct zr_queue *queue)
{
    for (size_t i = 0; i < queue->lanes.size; i++)
        for (struct zr_node *node = queue->lanes.buckets[i]; node != NULL; node = node->next) {
            struct zr_lane *lane = ZR_HOLDER(node, struct zr_lane, node);
            if (lane->newest.follower.watch != NULL && !lane->newest.stands)
                return lane;
        }
    return NULL;
}

static void next_lane(struct zr_task *task)
{
    struct zr_lane *lane = find_lane(zr_queue_of(task));
    consumer_of(task)->look.lane = lane;
    if (lane != NULL)
        zr_newest_list(task, lane, lane->watched, ZR_STEP(listed));
    else
        over(task);
}

void zr_glance(struct zr_task *task, void (*then)(struct zr_task *task))
{
    struct zr_consumer *consumer = consumer_of(task);
    consumer->stirred = false;
    consumer->glanced_for = consumer->tickets;
    consumer->asking = true;
    consumer->glanced = then;
    next_lane(task);
}
