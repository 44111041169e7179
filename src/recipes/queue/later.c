#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * Delayed items. They wait in /jobs/later, in one bucket per minute, under the time when they are
 * due. A process that looks for items moves those that are due into their lanes, behind the items
 * that are there already. Several processes may try; one succeeds.
 * 1. Has anything come into `later` since the last look, or is an item due? If not: nothing to do.
 *    A watch that still stands tells that without a request.
 * 2. Go through the minutes that have begun, and through the items of each.
 * 3. Note when the next item is due.
 *
 * The clock is the server's, as its answers to writes tell it. We know it with an error of up to
 * one round trip, and the clocks of two servers may differ when another one becomes the leader. So
 * an item may come that much too early or too late, but is never lost.
 *
 * What can go wrong: another process has moved the item: the next one. It cannot be read: it stays.
 * A stranger has made a znode below it, or the session may not read or move it: it stays, and is
 * tried again later.
 */

#define RETRY_MS 10000

static void next_slot(struct zr_task *task);
static void next_item(struct zr_task *task);

static struct zr_consumer *consumer_of(struct zr_task *task)
{
    return &zr_queue_of(task)->consumer;
}

static void end(struct zr_task *task, int64_t next_due_ms)
{
    const struct zr_search *look = zr_search_of(task);
    int64_t retry_ms = look->now_ms + RETRY_MS;
    if (look->stuck && (next_due_ms == 0 || next_due_ms > retry_ms))
        next_due_ms = retry_ms;
    struct zr_consumer *consumer = consumer_of(task);
    consumer->later_known = consumer->later_looked = true;
    consumer->later_seen = look->puts;
    consumer->next_due_ms = next_due_ms;
    look->timely(task);
}

static bool answered(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        return true;
    zr_verb_fail(task, task->outcome);
    return false;
}

/* ---- An item ------------------------------------------------------------------------------- */

static void forget_mover(struct zr_search *look)
{
    if (look->mover != NULL)
        zr_object_unref(&look->mover->object);
    look->mover = NULL;
}

/* It stays, and is tried again later. An empty name: all that is due in this minute. */
static void forbid(struct zr_task *task, const char *name)
{
    struct zr_search *look = zr_search_of(task);
    look->stuck = true;
    zr_forbid(zr_queue_of(task), look->lane, look->slot, name);
}

static void moved(struct zr_task *task)
{
    enum zr_status status = zr_search_of(task)->errand.status;
    zr_search_of(task)->stuck |= status == ZR_NOT_EMPTY;
    if (status == ZR_NO_AUTH)
        forbid(task, zr_search_of(task)->mover->name);
    if (status == ZR_OK || zr_was_faster(status) || status == ZR_NOT_EMPTY || status == ZR_NO_AUTH)
        next_item(task);
    else
        zr_verb_fail(task, status);
}

static void move(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    const struct zr_claim *item = look->mover;
    struct zr_append_options options = {.attempts = item->entry.attempts};
    struct zr_move_room room;
    char lane[ZR_LANE_NAME];
    enum zr_status status = zr_claim_move(item, &options, &room);
    if (status == ZR_OK) {
        zr_lane_name(item->entry.priority, lane);
        options.lane = (struct zr_bytes){lane, strlen(lane)};
        options.put_count = options.claim = ZR_NO_DATA; /* no process claims it */
        status = zr_errand_run(&look->errand, task, &options, item->entry.data, ZR_STEP(moved));
        zr_free(room.paths);
    }
    if (status != ZR_OK)
        zr_verb_fail(task, status);
}

static void item_read(struct zr_task *task)
{
    struct zr_claim *item = zr_search_of(task)->mover;
    if (task->outcome == ZR_NO_AUTH) {
        forbid(task, item->name);
        next_item(task);
        return;
    }
    if (!answered(task))
        return;
    if (task->outcome == ZR_NO_NODE) {
        next_item(task);
        return;
    }
    struct zr_request *answer = &task->call->request;
    item->data = (char *)answer->data_reply.at;
    item->version = answer->stat.version;
    bool readable = zr_item_read(answer->data_reply, &item->entry);
    answer->data_reply = ZR_NO_DATA;
    if (readable)
        move(task);
    else
        next_item(task);
}

static void read_item(struct zr_task *task, const char *name)
{
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_search *look = zr_search_of(task);
    look->mover = zr_claim_new(queue, look->lane, look->slot, name);
    if (look->mover != NULL)
        zr_queue_read(task, ZR_OP_GET, look->mover->path, "", ZR_STEP(item_read));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

/* ---- A minute ------------------------------------------------------------------------------ */

/* Whether its bucket was deleted or not. */
static void slot_over(struct zr_task *task)
{
    zr_search_of(task)->slot_at++;
    next_slot(task);
}

static void drop_slot(struct zr_task *task)
{
    const struct zr_search *look = zr_search_of(task);
    char name[ZR_BUCKET_NAME];
    char *full =
        zr_queue_full(zr_queue_of(task), look->lane->path, zr_bucket_name(look->slot, name));
    const struct zr_request what = {.op = ZR_OP_DELETE, .path = full, .version = ZR_ANY_VERSION};
    if (full != NULL)
        zr_verb_ask(task, &what, false, ZR_STEP(slot_over));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
    zr_free(full);
}

static void next_item(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    forget_mover(look);
    if (look->due_next < look->due_count) {
        const char *name = look->due_at[look->due_next++];
        if (zr_item_due(name) > look->now_ms)
            end(task, zr_item_due(name));
        else
            read_item(task, name);
    } else if ((look->slot + 2) * ZR_SLOT_MS < look->now_ms) {
        drop_slot(task);
    } else {
        slot_over(task);
    }
}

static void take_slot(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    zr_free(look->due);
    zr_free(look->due_at);
    look->due = zr_take_names(task);
    look->due_at = zr_items_in_order(zr_queue_of(task), look->due, true, &look->due_count);
    look->due_next = 0;
    if (look->due_at == NULL) {
        zr_verb_fail(task, ZR_NO_MEMORY);
        return;
    }
    const struct zr_batch batch = {
        .lane = look->lane, .bucket = look->slot, .at = look->due_at, .count = look->due_count};
    zr_unreadable_prune(consumer_of(task), &batch);
    next_item(task);
}

static void slot_listed(struct zr_task *task)
{
    if (task->outcome == ZR_NO_AUTH) {
        forbid(task, "");
        slot_over(task);
    } else if (answered(task)) {
        take_slot(task);
    }
}

static void next_slot(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    char name[ZR_BUCKET_NAME];
    if (look->slot_at == look->slot_count) {
        end(task, 0);
        return;
    }
    look->slot = look->slots[look->slot_at];
    if (look->slot * ZR_SLOT_MS > look->now_ms)
        end(task, look->slot * ZR_SLOT_MS);
    else
        zr_queue_read(task, ZR_OP_CHILDREN, look->lane->path, zr_bucket_name(look->slot, name),
                      ZR_STEP(slot_listed));
}

static void slots_listed(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    if (!answered(task))
        return;
    struct zr_names *names = zr_take_names(task);
    zr_free(look->slots);
    look->slots = zr_buckets_in_order(names, &look->slot_count);
    look->slot_at = 0;
    zr_free(names);
    if (look->slots != NULL)
        next_slot(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

/* ---- Is anything due? ---------------------------------------------------------------------- */

static void judge(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    const struct zr_consumer *consumer = consumer_of(task);
    look->now_ms = zr_queue_now_ms(zr_queue_of(task));
    bool due = consumer->next_due_ms > 0 && consumer->next_due_ms <= look->now_ms;
    look->lane = zr_queue_lane(zr_queue_of(task), "later");
    if (consumer->later_known && consumer->later_seen == look->puts && !due)
        end(task, consumer->next_due_ms);
    else if (look->lane == NULL)
        zr_verb_fail(task, ZR_NO_MEMORY);
    else
        zr_queue_read(task, ZR_OP_CHILDREN, look->lane->path, "", ZR_STEP(slots_listed));
}

static void time_told(struct zr_task *task)
{
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    zr_queue_tell(zr_queue_of(task), task->call->request.stat.mtime_ms);
    judge(task);
}

static void puts_read(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    if (!answered(task))
        return;
    if (task->outcome == ZR_NO_NODE) {
        look->timely(task);
        return;
    }
    look->puts = task->call->request.stat.version;
    if (zr_queue_age_us(zr_queue_of(task)) == INT64_MAX)
        zr_queue_ask_time(task, ZR_STEP(time_told));
    else
        judge(task);
}

/* Nothing has come in, because the watch stands. */
static bool is_known(const struct zr_queue *queue)
{
    const struct zr_consumer *consumer = &queue->consumer;
    bool due = consumer->next_due_ms > 0 && consumer->next_due_ms <= zr_queue_now_ms(queue);
    return consumer->later.stands && consumer->later_looked && !due;
}

void zr_later_look(struct zr_task *task, void (*then)(struct zr_task *task))
{
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_search *look = zr_search_of(task);
    look->timely = then;
    look->stuck = false;
    forget_mover(look);
    if (look->watches && is_known(queue)) {
        then(task);
        return;
    }
    queue->consumer.later_looked = false;
    if (look->watches)
        zr_lookout_read(task, &queue->consumer.later, ZR_OP_EXISTS, queue->znode.path, "/later/in",
                        ZR_STEP(puts_read));
    else
        zr_queue_read(task, ZR_OP_EXISTS, queue->znode.path, "/later/in", ZR_STEP(puts_read));
}
