#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * A process is one consumer of a queue. One task looks for items while callers wait in the line
 * (wait.c):
 * 1. While there are items in the batch of the last listing: start a worker that claims some for
 * the first callers (worker.c). If there is none, list again (look.c).
 * 2. If the queue is empty, acquire the idle lock (idle.c): a fair lock of all idle processes. Its
 *    holder watches what comes in; the other processes sleep, and a put wakes only one process. The
 *    lock is kept while a caller waits.
 * 3. If a consumer dies, its claims are deleted with its session, and so is its znode in
 *    `consumers`, which the holder of the lock watches.
 *
 * What can go wrong: a listing cannot be read: the callers are told, or, without a connection, the
 * task tries again. The session is lost, and the idle lock with it: acquire it again. A listed item
 * is gone: the worker takes the next one.
 */

#define FRESH_US 2000000 /* for which a listing is used */
#define AGAIN_US 100000  /* before another look after a failure without a connection */

static void run(struct zr_task *task);

static struct zr_consumer *consumer_of(struct zr_task *task)
{
    return &zr_queue_of(task)->consumer;
}

/* ---- Telling the callers ------------------------------------------------------------------- */

static void fail_all(struct zr_consumer *consumer, enum zr_status status)
{
    struct zr_waiter *waiter;
    while ((waiter = zr_line_first(consumer)) != NULL)
        zr_waiter_fail(waiter, status, NULL);
}

/* Callers that only try wait neither for an item nor for a connection. */
static void fail_tries(struct zr_consumer *consumer, enum zr_status status, const char *why)
{
    struct zr_link *link;
    while ((link = zr_list_first(&consumer->tries)) != NULL)
        zr_waiter_fail(ZR_HOLDER(link, struct zr_waiter, in_tries), status, why);
}

void zr_consumer_fail(struct zr_queue *queue, enum zr_status status)
{
    fail_all(&queue->consumer, status);
    zr_signal_fire(&queue->consumer.work, ZR_OK);
}

void zr_consumer_happened(struct zr_queue *queue)
{
    queue->consumer.events++;
    zr_signal_fire(&queue->consumer.work, ZR_OK);
}

void zr_consumer_stirred(struct zr_queue *queue)
{
    queue->consumer.stirred = true;
    zr_signal_fire(&queue->consumer.work, ZR_OK);
}

void zr_consumer_came_back(struct zr_queue *queue)
{
    queue->consumer.fresh_until_us = 0;
    zr_consumer_happened(queue);
}

void zr_consumer_put(struct zr_queue *queue, const struct zr_lane *lane)
{
    struct zr_consumer *consumer = &queue->consumer;
    const struct zr_batch *batch = &consumer->batch;
    if (batch->next < batch->count && strcmp(batch->lane->name, lane->name) > 0)
        consumer->fresh_until_us = 0;
}

/* ---- Looking ------------------------------------------------------------------------------- */

static void ready(struct zr_task *task)
{
    struct zr_consumer *consumer = consumer_of(task);
    consumer->asking = false;
    consumer->looked = consumer->seen;
    consumer->fresh_until_us = zr_engine_now_us(task->session->engine) + FRESH_US;
    zr_batch_adopt(&consumer->look);
    run(task);
}

/* Our znode in `consumers` is made once here, not by each of many workers. */
static void found(struct zr_task *task)
{
    if (consumer_of(task)->look.batch.count > 0)
        zr_attend_ensure(task, ready);
    else
        ready(task);
}

static void look_for_items(struct zr_task *task)
{
    struct zr_search *look = &consumer_of(task)->look;
    look->found = found;
    zr_search_begin(look, task);
}

static void consumers_read(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        consumer_of(task)->consumers.stands = false; /* they come after the lanes */
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        zr_later_look(task, look_for_items);
    else
        zr_verb_fail(task, task->outcome);
}

static void look(struct zr_task *task)
{
    struct zr_consumer *consumer = consumer_of(task);
    consumer->asking = true;
    consumer->seen = consumer->events;
    consumer->look.watches = consumer->watching;
    if (consumer->watching && !consumer->consumers.stands)
        zr_lookout_read(task, &consumer->consumers, ZR_OP_CHILDREN, zr_queue_of(task)->znode.path,
                        "/consumers", ZR_STEP(consumers_read));
    else
        zr_later_look(task, look_for_items);
}

/* A verb has failed. */
static void look_failed(struct zr_task *task)
{
    struct zr_consumer *consumer = consumer_of(task);
    enum zr_status status = task->outcome;
    consumer->asking = false;
    consumer->events++; /* it may have been a glance */
    if (status != ZR_CONNECTION_LOSS && status != ZR_LOST)
        fail_all(consumer, status);
    else
        fail_tries(consumer, ZR_CONNECTION_LOSS, NULL);
    if (consumer->waiting > 0)
        zr_verb_pause(task, AGAIN_US, ZR_STEP(run));
    else
        run(task);
}

/* ---- The task ------------------------------------------------------------------------------ */

static void calm(struct zr_timer *timer)
{
    zr_signal_fire(&ZR_HOLDER(timer, struct zr_queue, consumer.calm)->consumer.work, ZR_OK);
}

static void due(struct zr_timer *timer)
{
    zr_consumer_happened(ZR_HOLDER(timer, struct zr_queue, consumer.due));
}

/* The queue is empty: waits until something comes in. */
static void idle(struct zr_task *task)
{
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_consumer *consumer = &queue->consumer;
    zr_verb_await(task, &consumer->work, ZR_STEP(run)); /* the lock may fail at once */
    zr_idle_acquire(queue);
    if (consumer->stirred)
        zr_timer_start(&task->session->engine->timers, &consumer->calm, consumer->glance_at_us,
                       calm);
    if (consumer->next_due_ms > 0 && zr_idle_holds(queue)) {
        int64_t left_ms = consumer->next_due_ms - zr_queue_now_ms(queue);
        int64_t now_us = zr_engine_now_us(task->session->engine);
        zr_timer_start(&task->session->engine->timers, &consumer->due,
                       now_us + (left_ms > 0 ? left_ms : 1) * 1000, due);
    }
}

/* Callers that only try do not wait for the end of a pause. */
static bool may_glance(struct zr_task *task)
{
    const struct zr_consumer *consumer = consumer_of(task);
    int64_t now_us = zr_engine_now_us(task->session->engine);
    return consumer->stirred &&
           (consumer->glance_at_us <= now_us || !zr_list_empty(&consumer->tries));
}

static void stop_timers(struct zr_task *task)
{
    zr_timer_stop(&task->session->engine->timers, &consumer_of(task)->due);
    zr_timer_stop(&task->session->engine->timers, &consumer_of(task)->calm);
}

/* A caller that only tries, and came before the last glance; or null. */
static struct zr_waiter *find_try(const struct zr_consumer *consumer)
{
    ZR_LIST_EACH (link, &consumer->tries) {
        struct zr_waiter *waiter = ZR_HOLDER(link, struct zr_waiter, in_tries);
        if (waiter->ticket <= consumer->glanced_for)
            return waiter;
    }
    return NULL;
}

/* Acks of others may stir the queue again at once: that must not hold up those that only try. */
static void glanced(struct zr_task *task)
{
    struct zr_consumer *consumer = consumer_of(task);
    struct zr_waiter *waiter;
    bool nothing = consumer->looked == consumer->events && consumer->batch.count == 0;
    while (nothing && (waiter = find_try(consumer)) != NULL)
        zr_waiter_fail(waiter, ZR_TIMEOUT, "there is no item");
    run(task);
}

static void run(struct zr_task *task)
{
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_consumer *consumer = &queue->consumer;
    stop_timers(task);
    zr_work(queue);
    if (consumer->waiting > 0 &&
        (consumer->waiting <= consumer->coming || zr_batch_has_next(queue))) {
        zr_verb_await(task, &consumer->work, ZR_STEP(run)); /* until a worker has ended */
        return;
    }
    if (consumer->waiting > 0 && consumer->looked == consumer->events && !consumer->stirred &&
        consumer->batch.count == 0)
        fail_tries(consumer, ZR_TIMEOUT, "there is no item");
    if (consumer->waiting == 0)
        zr_task_finish(task, ZR_OK);
    else if (consumer->looked != consumer->events || consumer->batch.count > 0)
        look(task); /* all items of a batch were given out, and there may be more */
    else if (may_glance(task))
        zr_glance(task, glanced);
    else
        idle(task);
}

static void end(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

static void free_look(struct zr_task *task)
{
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_consumer *consumer = &queue->consumer;
    stop_timers(task);
    consumer->running = consumer->asking = false;
    zr_idle_end(queue);
    zr_search_fini(&consumer->look);
    zr_attend_leave_if_unused(queue);
    zr_object_unref(&queue->znode.object);
}

static const struct zr_task_kind kind = {
    .name = "queue:look", .clean = end, .give_up = look_failed, .free = free_look};

enum zr_status zr_consumer_serve(struct zr_queue *queue)
{
    struct zr_consumer *consumer = &queue->consumer;
    struct zr_session *session = queue->znode.session;
    struct zr_znode_task *znode_task = &consumer->look.queue_task.znode_task;
    if (consumer->running || consumer->waiting == 0) {
        zr_signal_fire(&consumer->work, ZR_OK);
        return ZR_OK;
    }
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    consumer->running = true;
    if (consumer->batch.next >= consumer->batch.count)
        consumer->events++;
    memset(&consumer->look, 0, sizeof(consumer->look));
    consumer->look.errand.queue = queue;
    znode_task->znode = (struct zr_znode *)zr_object_ref(&queue->znode.object);
    zr_task_start(&znode_task->task, &kind, session, queue->znode.path, -1, ZR_STEP(run));
    zr_task_detach(&znode_task->task);
    return ZR_OK;
}

/* ---- Beginning and ending ------------------------------------------------------------------ */

void zr_consumer_init(struct zr_queue *queue, int64_t attempts, int64_t prefetch)
{
    struct zr_consumer *consumer = &queue->consumer;
    consumer->attempts = attempts;
    consumer->prefetch = consumer->depth = (size_t)prefetch;
    zr_list_init(&consumer->line);
    zr_list_init(&consumer->tries);
    zr_list_init(&consumer->unreadable);
    zr_list_init(&consumer->stock);
    zr_signal_init(&consumer->work);
    consumer->looked = UINT64_MAX;
    consumer->lanes.queue = consumer->later.queue = consumer->consumers.queue = queue;
}

void zr_consumer_fini(struct zr_queue *queue)
{
    struct zr_consumer *consumer = &queue->consumer;
    zr_idle_fini(queue);
    zr_timer_stop(&queue->znode.session->engine->timers, &consumer->stale);
    zr_unreadable_clear(queue);
    zr_batch_clear(&consumer->batch);
    zr_table_fini(&consumer->working_on);
    zr_free(consumer->presence);
}
