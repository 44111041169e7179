#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * A worker: a task that gets one item for a caller in the line.
 * 1. Take the next item of the batch, and try to get it (work.c).
 * 2. It is gone: 1 again, while the batch has items.
 * 3. Give the item to the caller. If the caller has left, to the next one; or let it go.
 *
 * What can go wrong: the worker ends without an item: its caller returns to its position in the
 * line, or is told why.
 */

struct zr_worker *zr_worker_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_queue_task_of(task), struct zr_worker, queue_task);
}

/* ---- Which item ---------------------------------------------------------------------------- */

static void forget_claim(struct zr_worker *worker)
{
    struct zr_claim *claim = worker->claim;
    worker->claim = NULL;
    if (claim == NULL)
        return;
    zr_table_remove(&claim->queue->consumer.working_on, &worker->working_on);
    zr_object_unref(&claim->object);
}

/* Takes the next item of the batch. Errors: ZR_NO_MEMORY. */
static enum zr_status next_place(struct zr_worker *worker, struct zr_queue *queue)
{
    struct zr_batch *batch = &queue->consumer.batch;
    const char *name = batch->at[batch->next++];
    struct zr_claim *claim = zr_claim_new(queue, batch->lane, batch->bucket, name);
    if (claim == NULL)
        return ZR_NO_MEMORY;
    enum zr_status status =
        zr_table_add(&queue->consumer.working_on, &worker->working_on, claim->path);
    if (status != ZR_OK) {
        zr_object_unref(&claim->object);
        return status;
    }
    worker->claim = claim;
    worker->doubted = false;
    return ZR_OK;
}

static void end(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

void zr_work_got(struct zr_task *task)
{
    zr_worker_of(task)->got = true;
    end(task);
}

void zr_work_failed(struct zr_task *task, enum zr_status status)
{
    zr_worker_of(task)->failure = status;
    end(task);
}

static void next(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    forget_claim(worker);
    if (!zr_batch_has_next(zr_queue_of(task))) {
        end(task);
        return;
    }
    enum zr_status status = next_place(worker, zr_queue_of(task));
    if (status == ZR_OK)
        zr_work_begin(task);
    else
        zr_work_failed(task, status);
}

void zr_work_gone(struct zr_task *task)
{
    zr_queue_of(task)->consumer.ranked_until_us = 0; /* there are others: count them again */
    next(task);
}

void zr_work_unreadable(struct zr_task *task)
{
    enum zr_status status = zr_leave_out(zr_worker_of(task)->claim);
    if (status == ZR_OK)
        next(task);
    else
        zr_work_failed(task, status);
}

/* ---- The end ------------------------------------------------------------------------------- */

/* Gives the item to the caller, or to the first one in the line. takes: the reference. */
static void deliver(struct zr_consumer *consumer, struct zr_worker *worker, struct zr_claim *claim)
{
    struct zr_waiter *waiter = worker->waiter, *first = zr_line_first(consumer);
    if (waiter == NULL && first != NULL && first->takes == worker->takes)
        waiter = first;
    if (waiter != NULL) {
        zr_waiter_give(waiter, claim);
        return;
    }
    zr_claim_let_go(claim);
    zr_object_unref(&claim->object);
}

static void no_item(struct zr_queue *queue, struct zr_worker *worker)
{
    struct zr_consumer *consumer = &queue->consumer;
    struct zr_waiter *waiter = worker->waiter;
    enum zr_status status = worker->failure;
    bool tries = waiter != NULL && waiter->queue_task.znode_task.task.tries;
    if (waiter != NULL && status != ZR_OK &&
        (status != ZR_CONNECTION_LOSS || tries || worker->final)) {
        zr_waiter_fail(waiter, status, worker->why);
        return;
    }
    if (waiter != NULL) {
        waiter->worker = NULL;
        zr_line_put_back(consumer, waiter);
    }
    consumer->events++;
}

static void fini(struct zr_worker *worker)
{
    zr_transaction_fini(&worker->transaction);
    zr_errand_fini(&worker->errand);
    zr_free(worker->asked);
}

/* The worker's claim counts as one of the process from here on, or its caller is in the line. */
static void free_worker(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_claim *claim = worker->got ? worker->claim : NULL;
    zr_object_ref(&queue->znode.object);
    queue->consumer.working--;
    if (claim != NULL)
        zr_object_ref(&claim->object);
    forget_claim(worker);
    if (claim != NULL && !claim->taken)
        zr_claim_count(claim);
    if (claim != NULL)
        deliver(&queue->consumer, worker, claim);
    else if (zr_session_usable(task->session) == ZR_OK)
        no_item(queue, worker);
    else if (worker->waiter != NULL)
        worker->waiter->worker = NULL;
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

static const struct zr_task_kind kind = {
    .name = "queue:work", .clean = end, .give_up = give_up, .free = free_worker};

enum zr_status zr_work(struct zr_queue *queue)
{
    struct zr_znode_task *znode_task;
    const struct zr_arg no_limit = {.given = false};
    enum zr_status status =
        zr_znode_task_new(sizeof(struct zr_worker), &queue->znode.object, &znode_task);
    if (status != ZR_OK)
        return status;
    struct zr_worker *worker = zr_worker_of(&znode_task->task);
    struct zr_waiter *waiter = zr_line_first(&queue->consumer);
    worker->errand.queue = queue;
    status = next_place(worker, queue);
    if (status != ZR_OK) {
        zr_znode_task_free(&znode_task->task);
        return status;
    }
    zr_line_remove(&queue->consumer, waiter);
    worker->waiter = waiter;
    worker->takes = waiter->takes;
    waiter->worker = worker;
    queue->consumer.working++;
    zr_znode_task_start(znode_task, &kind, &no_limit, ZR_STEP(zr_work_begin));
    zr_task_detach(&znode_task->task);
    return ZR_OK;
}
