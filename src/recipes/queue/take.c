#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * Takes an item that a worker has read (work.c): in one transaction, create and delete the claim,
 * and delete the item. If it has an id, its tombstone takes its place.
 *
 * What can go wrong: another process was faster. The answer is lost, or there is no memory for it:
 * if the item is still there, behind a sync, it was not taken. (On another connection, too: a
 * server does not accept a session that has seen more than the server.) If it is gone, or if the
 * session is another one by now, nothing shows the outcome, because the old request may still
 * arrive. Then the item may be lost: that is what "at most once" means.
 */

static void gone(struct zr_task *task)
{
    zr_queue_of(task)->consumer.ranked_until_us = 0; /* there are others: count them again */
    zr_work_drop(zr_worker_of(task), 0);
    zr_work_more(task);
}

static void lost(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    zr_queue_of(task)->consumer.missing++;
    worker->final = true;
    worker->why = worker->errand.status == ZR_NO_MEMORY
                      ? "memory is exhausted; an item may have been removed without being delivered"
                      : "the connection was lost; an item may have been removed without being "
                        "delivered";
    zr_work_failed(task, worker->errand.status);
}

static void looked(struct zr_task *task)
{
    const struct zr_worker *worker = zr_worker_of(task);
    bool same = worker->generation == task->session->generation;
    if (task->outcome == ZR_OK && same)
        gone(task);
    else
        lost(task);
}

static void settled(struct zr_task *task)
{
    const struct zr_claim *claim = zr_worker_of(task)->claims[0];
    if (task->outcome == ZR_OK)
        zr_queue_read(task, ZR_OP_EXISTS, claim->path, "", ZR_STEP(looked));
    else
        lost(task);
}

static void settle(struct zr_task *task)
{
    struct zr_queue *queue = zr_queue_of(task);
    zr_queue_read(task, ZR_OP_SYNC, queue->znode.path, "", ZR_STEP(settled));
}

static void got(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_claim *claim = worker->claims[0];
    claim->taken = true;
    claim->entry.attempts++;
    claim->bucket_done = worker->errand.bucket;
    memcpy(claim->done, worker->errand.created, sizeof(claim->done));
    worker->got = 1;
    zr_work_end(task);
}

/* The next one is taken instead, unless the caller is told. */
static void forbidden(struct zr_task *task)
{
    zr_worker_of(task)->at = 0;
    zr_work_item_failed(task, ZR_NO_AUTH);
    zr_work_more(task);
}

static void taken(struct zr_task *task)
{
    enum zr_status status = zr_worker_of(task)->errand.status;
    if (status == ZR_OK)
        got(task);
    else if (zr_was_faster(status))
        gone(task);
    else if (status == ZR_CONNECTION_LOSS || status == ZR_NO_MEMORY)
        settle(task);
    else if (status == ZR_NO_AUTH)
        forbidden(task);
    else
        zr_work_failed(task, status);
}

void zr_take_item(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_append_options options = {.once = true};
    struct zr_move_room room;
    worker->generation = task->session->generation;
    enum zr_status status = zr_claim_move(worker->claims[0], &options, &room);
    if (status == ZR_OK) {
        options.put_count = ZR_NO_DATA;
        if (worker->claims[0]->entry.has_id)
            options.lane = (struct zr_bytes){"done", 4};
        status = zr_errand_run(&worker->errand, task, &options, (struct zr_bytes){"", 0},
                               ZR_STEP(taken));
        zr_free(room.paths);
    }
    if (status != ZR_OK)
        zr_work_failed(task, status);
}
