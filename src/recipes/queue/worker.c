#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * A worker: a task that gets items for callers in the line, and some for the stock (stock.c). One
 * worker takes one item, or claims up to a hundred in one transaction.
 * 1. Take the next items of the batch (workers.c), and try to get them (read_items.c).
 * 2. All of them are gone: 1 again, while the batch has items.
 * 3. Give the items to the callers, in their order. If a caller has left, to the next one; the
 *    others are kept in the stock, or let go.
 *
 * What can go wrong: there are fewer items than callers: the last callers return to their positions
 * in the line, or are told why.
 */

struct zr_worker *zr_worker_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_queue_task_of(task), struct zr_worker, queue_task);
}

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* ---- Which items --------------------------------------------------------------------------- */

static void forget(struct zr_claim *claim)
{
    zr_call_free(claim->read);
    claim->read = NULL;
    zr_table_remove(&claim->queue->consumer.working_on, &claim->working_on);
}

void zr_work_drop(struct zr_worker *worker, size_t at)
{
    struct zr_claim *claim = worker->claims[at];
    worker->count--;
    for (size_t i = at; i < worker->count; i++)
        worker->claims[i] = worker->claims[i + 1];
    forget(claim);
    zr_object_unref(&claim->object);
}

/* Takes the next item of the batch. Errors: ZR_NO_MEMORY. */
static enum zr_status add_next(struct zr_worker *worker, struct zr_queue *queue)
{
    struct zr_batch *batch = &queue->consumer.batch;
    const char *name = batch->at[batch->next++];
    struct zr_claim *claim = zr_claim_new(queue, batch->lane, batch->bucket, name);
    if (claim == NULL)
        return ZR_NO_MEMORY;
    enum zr_status status =
        zr_table_add(&queue->consumer.working_on, &claim->working_on, claim->path);
    if (status == ZR_OK)
        worker->claims[worker->count++] = claim;
    else
        zr_object_unref(&claim->object);
    return status;
}

enum zr_status zr_work_fill(struct zr_worker *worker, struct zr_queue *queue, size_t most)
{
    enum zr_status status = ZR_OK;
    while (status == ZR_OK && worker->count < most && zr_batch_has_next(queue))
        status = add_next(worker, queue);
    return worker->count > 0 ? ZR_OK : status;
}

/* Gives the worker's last item back to the batch. If others behind it were given out meanwhile, it
   is listed again. */
static void put_back(struct zr_worker *worker, struct zr_consumer *consumer)
{
    const struct zr_claim *claim = worker->claims[worker->count - 1];
    struct zr_batch *batch = &consumer->batch;
    if (batch->next > 0 && batch->lane == claim->lane && batch->bucket == claim->bucket &&
        strcmp(batch->at[batch->next - 1], claim->name) == 0)
        batch->next--;
    else
        consumer->fresh_until_us = 0;
    zr_work_drop(worker, worker->count - 1);
}

void zr_work_cut(struct zr_worker *worker)
{
    struct zr_consumer *consumer = &worker->errand.queue->consumer;
    while (worker->count > worker->at)
        put_back(worker, consumer);
    consumer->batch.own = false;
    consumer->coming -= worker->spare;
    worker->spare = 0;
}

/* ---- Steps --------------------------------------------------------------------------------- */

void zr_work_end(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

void zr_work_failed(struct zr_task *task, enum zr_status status)
{
    zr_worker_of(task)->failure = status;
    zr_work_end(task);
}

static bool fails(const struct zr_worker *worker, const struct zr_waiter *waiter,
                  enum zr_status status)
{
    bool tries = waiter->queue_task.znode_task.task.tries;
    return status != ZR_OK && (status != ZR_CONNECTION_LOSS || tries || worker->final);
}

void zr_work_item_failed(struct zr_task *task, enum zr_status status)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_link *last = worker->waiters.head.prev;
    const struct zr_claim *claim = worker->claims[worker->at];
    bool told =
        status == ZR_NO_AUTH && !zr_forbid(claim->queue, claim->lane, claim->bucket, claim->name);
    zr_work_drop(worker, worker->at);
    if (told || zr_list_empty(&worker->waiters))
        return;
    struct zr_waiter *waiter = ZR_HOLDER(last, struct zr_waiter, in_line);
    if (fails(worker, waiter, status))
        zr_waiter_fail(waiter, status, NULL);
}

void zr_work_more(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    size_t callers = 0;
    ZR_LIST_EACH (link, &worker->waiters)
        callers++;
    enum zr_status status =
        zr_work_fill(worker, zr_queue_of(task), least(callers + worker->spare, worker->most));
    if (status != ZR_OK)
        zr_work_failed(task, status);
    else if (worker->count > 0)
        zr_work_begin(task);
    else
        zr_work_end(task);
}

/* ---- The end ------------------------------------------------------------------------------- */

/* The caller that gets the next item, or null. */
static struct zr_waiter *next_caller(const struct zr_consumer *consumer,
                                     const struct zr_worker *worker)
{
    struct zr_link *link = zr_list_first(&worker->waiters);
    if (link != NULL)
        return ZR_HOLDER(link, struct zr_waiter, in_line);
    struct zr_waiter *first = worker->drops == consumer->drops ? zr_line_first(consumer) : NULL;
    return first != NULL && first->takes == worker->takes ? first : NULL;
}

/* takes: the reference. */
static void deliver(struct zr_worker *worker, struct zr_claim *claim)
{
    struct zr_queue *queue = claim->queue;
    struct zr_waiter *waiter = next_caller(&queue->consumer, worker);
    bool keep = !claim->taken && worker->drops == queue->consumer.drops;
    if (waiter != NULL) {
        zr_waiter_give(waiter, claim);
    } else if (!keep || !zr_stock_add(claim)) {
        zr_claim_let_go(claim);
        zr_object_unref(&claim->object);
    }
}

/* An item of a session that is over is free, or will be. */
static void hand_over(struct zr_worker *worker, const struct zr_session *session)
{
    for (size_t i = 0; i < worker->count; i++) {
        struct zr_claim *claim = worker->claims[i];
        bool ours = i < worker->got && (claim->taken || claim->generation == session->generation);
        forget(claim);
        if (ours && !claim->taken)
            zr_claim_count(claim);
        if (ours)
            deliver(worker, claim);
        else
            zr_object_unref(&claim->object);
    }
    worker->count = 0;
}

/* There is no item for them. */
static void turn_away(struct zr_queue *queue, struct zr_worker *worker)
{
    struct zr_consumer *consumer = &queue->consumer;
    struct zr_link *link;
    while ((link = zr_list_first(&worker->waiters)) != NULL) {
        struct zr_waiter *waiter = ZR_HOLDER(link, struct zr_waiter, in_line);
        struct zr_claim *claim = zr_stock_take(queue);
        zr_line_remove(consumer, waiter);
        if (claim != NULL)
            zr_waiter_give(waiter, claim);
        else if (fails(worker, waiter, worker->failure))
            zr_waiter_fail(waiter, worker->failure, worker->why);
        else if (zr_session_usable(queue->znode.session) == ZR_OK)
            zr_line_put_back(consumer, waiter);
        consumer->events++;
    }
}

static void fini(struct zr_worker *worker)
{
    zr_transaction_fini(&worker->transaction);
    zr_errand_fini(&worker->errand);
    zr_free(worker->asked);
}

/* The items count as claims of the process from here on, or their callers are in the line. */
static void free_worker(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_consumer *consumer = &queue->consumer;
    zr_object_ref(&queue->znode.object);
    consumer->working -= worker->most;
    consumer->coming -= worker->spare;
    consumer->workers -= !worker->takes;
    hand_over(worker, task->session);
    turn_away(queue, worker);
    fini(worker);
    zr_queue_task_free(task);
    zr_consumer_serve(queue);
    zr_attend_leave_if_unused(queue);
    zr_object_unref(&queue->znode.object);
}

/* A verb has failed. The transaction fails with ZR_LOST if it was not done in its session. */
static void give_up(struct zr_task *task)
{
    if (task->outcome == ZR_LOST)
        zr_work_begin(task);
    else
        zr_work_failed(task, task->outcome);
}

const struct zr_task_kind zr_worker_kind = {
    .name = "queue:work", .clean = zr_work_end, .give_up = give_up, .free = free_worker};
