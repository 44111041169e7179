#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * Starts workers (worker.c) while the batch has items: for the callers in the line, up to a hundred
 * of them at once, and for the stock (stock.c). While some workers claim, further callers wait in
 * the line, so that the next worker claims for all of them.
 */

#define GROUP 100 /* items of one transaction */
#define WORKERS 2 /* that claim at the same time, while fewer callers than a group wait */

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* How many callers at the beginning of the line are served by one worker. */
static size_t callers_of_one(const struct zr_consumer *consumer)
{
    size_t count = 0;
    ZR_LIST_EACH (link, &consumer->line) {
        bool takes = ZR_HOLDER(link, struct zr_waiter, in_line)->takes;
        if (takes || count == GROUP)
            return takes && count == 0 ? 1 : count;
        count++;
    }
    return count;
}

/* Takes these callers out of the line. */
static void serve(struct zr_consumer *consumer, struct zr_worker *worker, size_t callers)
{
    for (size_t i = 0; i < callers; i++) {
        struct zr_waiter *waiter = zr_line_first(consumer);
        zr_line_remove(consumer, waiter);
        waiter->worker = worker;
        zr_list_append(&worker->waiters, &waiter->in_line);
    }
    worker->most = worker->count;
    worker->spare = worker->count - callers;
    consumer->working += worker->most;
    consumer->coming += worker->spare;
    consumer->workers += !worker->takes;
}

static enum zr_status start(struct zr_queue *queue)
{
    struct zr_consumer *consumer = &queue->consumer;
    const struct zr_waiter *first = zr_line_first(consumer);
    bool takes = first != NULL && first->takes;
    size_t callers = callers_of_one(consumer);
    size_t most = least(callers + zr_stock_room(queue), GROUP);
    const struct zr_arg no_limit = {.given = false};
    struct zr_znode_task *znode_task;
    enum zr_status status =
        zr_znode_task_new(sizeof(struct zr_worker) + most * sizeof(struct zr_claim *),
                          &queue->znode.object, &znode_task);
    if (status != ZR_OK)
        return status;
    struct zr_worker *worker = zr_worker_of(&znode_task->task);
    worker->takes = takes;
    worker->drops = consumer->drops;
    worker->errand.queue = queue;
    zr_list_init(&worker->waiters);
    zr_signal_init(&worker->read);
    status = zr_work_fill(worker, queue, most);
    if (status != ZR_OK) {
        zr_znode_task_free(&znode_task->task);
        return status;
    }
    serve(consumer, worker, least(callers, worker->count));
    zr_znode_task_start(znode_task, &zr_worker_kind, &no_limit, ZR_STEP(zr_work_begin));
    zr_task_detach(&znode_task->task);
    return ZR_OK;
}

/* True if another worker should begin: for a caller that takes; for callers for which no item is
   on its way; or for the stock, when half of it is gone. */
static bool is_wanted(const struct zr_queue *queue)
{
    const struct zr_consumer *consumer = &queue->consumer;
    const struct zr_waiter *first = zr_line_first(consumer);
    if (!zr_batch_has_next(queue))
        return false;
    if (first != NULL && first->takes)
        return true;
    if (consumer->workers >= WORKERS && consumer->waiting < GROUP)
        return false;
    return first != NULL ? consumer->waiting > consumer->coming : zr_stock_is_low(queue);
}

void zr_work(struct zr_queue *queue)
{
    struct zr_consumer *consumer = &queue->consumer;
    enum zr_status status = ZR_OK;
    while (is_wanted(queue) && (status == ZR_OK || consumer->waiting > 0)) {
        status = start(queue);
        if (status != ZR_OK && consumer->waiting > 0)
            zr_waiter_fail(zr_line_first(consumer), status, NULL);
    }
}
