#include <string.h>

#include "core/alloc.h"
#include "recipes/contest.h"
#include "recipes/queue/claims.h"

/*
 * The idle lock: a fair lock of all idle processes. The consumer (consumer.c) that holds it watches
 * what comes in: the lanes, what comes into each of them (also into its last bucket, glance.c) and
 * into `later`, and the other consumers, whose items come back when they die.
 * 1. Acquire the lock; look once more, now with watches.
 * 2. An event wakes the consumer, which looks again, and watches again what has changed.
 * 3. No caller waits any more: let go of the lock and the watches.
 *
 * What can go wrong: the lock is lost with the session: the consumer stops to watch, because
 * another process does so now, and acquires the lock again. A watch cannot be set, or the server
 * refuses the lock: the callers are told.
 */

#define REST_US 100000 /* after a failure */

/* The lock. */
struct seat {
    struct zr_contest contest;
    struct zr_queue *queue; /* null: it is no more */
};

/* ---- Watching ------------------------------------------------------------------------------ */

static void told(struct zr_follower *follower, unsigned used_up)
{
    struct zr_lookout *lookout = ZR_HOLDER(follower, struct zr_lookout, follower);
    (void)used_up;
    lookout->stands = false;
    if (lookout->glance)
        zr_consumer_stirred(lookout->queue);
    else
        zr_consumer_happened(lookout->queue);
}

void zr_lookout_read(struct zr_task *task, struct zr_lookout *lookout, enum zr_op op,
                     const char *path, const char *more, struct zr_next next)
{
    struct zr_queue *queue = zr_queue_of(task);
    char *full = zr_queue_full(queue, path, more);
    enum zr_status status = full != NULL ? ZR_OK : ZR_NO_MEMORY;
    lookout->follower.told = told;
    lookout->queue = queue;
    if (status == ZR_OK && lookout->follower.watch == NULL)
        status = zr_watch_join(task->session, full, 2, ZR_WATCHED_BYTES_COMMON, &lookout->follower);
    if (status == ZR_OK)
        status = zr_verb_try_read(task, op, full, !lookout->stands, next);
    if (status == ZR_OK)
        lookout->stands = true;
    else
        zr_verb_fail(task, status);
    zr_free(full);
}

void zr_lookout_part(struct zr_lookout *lookout)
{
    if (lookout->follower.watch != NULL)
        zr_watch_part(&lookout->follower);
    lookout->stands = false;
}

static void stop_watching(struct zr_queue *queue)
{
    queue->consumer.watching = queue->consumer.stirred = false;
    zr_lookout_part(&queue->consumer.lanes);
    zr_lookout_part(&queue->consumer.later);
    zr_lookout_part(&queue->consumer.consumers);
    for (size_t i = 0; i < queue->lanes.size; i++)
        for (struct zr_node *node = queue->lanes.buckets[i]; node != NULL; node = node->next) {
            struct zr_lane *lane = ZR_HOLDER(node, struct zr_lane, node);
            zr_lookout_part(&lane->in);
            zr_lookout_part(&lane->newest);
        }
}

/* ---- The lock ------------------------------------------------------------------------------ */

static void free_seat(struct zr_object *self)
{
    zr_contest_free(self);
}

static const struct zr_class seat_class = {.name = "queue_seat", .free = free_seat};

static void rested(struct zr_timer *timer)
{
    zr_consumer_happened(ZR_HOLDER(timer, struct zr_queue, consumer.rest));
}

static void rest(struct zr_queue *queue)
{
    struct zr_engine *engine = queue->znode.session->engine;
    zr_timer_start(&engine->timers, &queue->consumer.rest, zr_engine_now_us(engine) + REST_US,
                   rested);
}

static void got_lock(struct zr_queue *queue, struct zr_hold *hold)
{
    queue->consumer.hold = hold;
    queue->consumer.watching = true;
    zr_consumer_happened(queue);
}

static void failed(struct zr_queue *queue, enum zr_status status)
{
    if (status == ZR_LOST || status == ZR_CONNECTION_LOSS || status == ZR_NO_MEMORY)
        rest(queue);
    else
        zr_consumer_fail(queue, status);
}

/* The attempt has ended. Its task's reference to the hold is ours now. */
static void attempt_over(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    struct zr_queue *queue = ((struct seat *)hold->owner)->queue;
    bool wanted = queue != NULL && queue->consumer.acquiring == hold;
    if (wanted)
        queue->consumer.acquiring = NULL;
    if (wanted && hold->state == ZR_HELD) {
        got_lock(queue, hold);
        return;
    }
    if (wanted && zr_session_usable(task->session) == ZR_OK)
        failed(queue, task->status);
    zr_hold_forget(&hold->object);
    zr_object_unref(&hold->object);
}

static const struct zr_role role = {
    .kind = {.name = "queue:idle", .clean = zr_hold_clean, .bound = true, .free = attempt_over},
    .stem = &zr_lock_stem,
};

static struct zr_contest *seat_of(struct zr_queue *queue)
{
    struct zr_consumer *consumer = &queue->consumer;
    struct zr_object *object;
    if (consumer->seat != NULL)
        return consumer->seat;
    char *path = zr_alloc(strlen(queue->znode.path) + 8);
    if (path == NULL)
        return NULL;
    strcat(strcpy(path, queue->znode.path), "/seat");
    enum zr_status status = zr_contest_new(sizeof(struct seat), &seat_class, queue->znode.session,
                                           path, ZR_NO_DATA, &object);
    zr_free(path);
    if (status != ZR_OK)
        return NULL;
    ((struct seat *)object)->queue = queue;
    consumer->seat = (struct zr_contest *)object;
    return consumer->seat;
}

bool zr_idle_holds(const struct zr_queue *queue)
{
    const struct zr_hold *hold = queue->consumer.hold;
    return hold != NULL && hold->state == ZR_HELD &&
           zr_session_valid(hold->session, hold->seat.generation);
}

static void release(struct zr_consumer *consumer)
{
    struct zr_hold *hold = consumer->hold;
    consumer->hold = NULL;
    if (hold == NULL)
        return;
    zr_hold_forget(&hold->object);
    zr_object_unref(&hold->object);
}

void zr_idle_acquire(struct zr_queue *queue)
{
    struct zr_consumer *consumer = &queue->consumer;
    const struct zr_arg no_limit = {.given = false};
    struct zr_task *task;
    if (consumer->hold != NULL && !zr_idle_holds(queue)) {
        release(consumer);
        stop_watching(queue);
    }
    if (consumer->hold != NULL || consumer->acquiring != NULL || consumer->rest.fire != NULL)
        return;
    struct zr_contest *seat = seat_of(queue);
    if (seat == NULL || zr_contest_start(seat, &role, &no_limit, &task) != ZR_OK) {
        rest(queue);
        return;
    }
    consumer->acquiring = zr_hold_of(task);
    zr_task_detach(task);
}

void zr_idle_end(struct zr_queue *queue)
{
    struct zr_consumer *consumer = &queue->consumer;
    struct zr_hold *attempt = consumer->acquiring;
    zr_timer_stop(&queue->znode.session->engine->timers, &consumer->rest);
    consumer->acquiring = NULL;
    if (attempt != NULL)
        zr_task_interrupt(&attempt->task, ZR_CANCELED);
    release(consumer);
    stop_watching(queue);
}

void zr_idle_fini(struct zr_queue *queue)
{
    struct zr_contest *seat = queue->consumer.seat;
    if (seat == NULL)
        return;
    ((struct seat *)seat)->queue = NULL;
    zr_object_unref(&seat->object);
}
