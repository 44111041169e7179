#include "recipes/queue/tidy.h"

#include "core/alloc.h"

/*
 * Ids. The znode of an id says where its item is: lane, bucket and tag. When an item with an id is
 * acked, taken or removed, a tombstone with the same id takes its place: an entry without data in
 * the lane `done`. One transaction does both, so the znode of an id always says where its item or
 * its tombstone is, and its mtime is the time at which the item was done. If the item was removed,
 * the znode says `removed` in place of the lane. known_id.c tells when an id counts as new.
 *
 * Why a removed item leaves a tombstone, too: a client gives up its session before the servers do,
 * and repeats a put in the next session. The first put may still arrive, after the item was put,
 * and removed. It must find the znode.
 *
 * The tombstones are in their lane in the order in which they were made. Consumers, and producers
 * that use ids, remove the old ones from its beginning, with the znodes of their ids, in the
 * background. Only the servers' memory depends on that.
 * 1. List the buckets of `done`, and the first one.
 * 2. Read some tombstones, all at the same time.
 * 3. Delete those that are old enough, by the server's clock, in one transaction; go on with 2.
 * 4. If all of the bucket were old, and it is sealed, delete it, and go on with the next one.
 *
 * What can go wrong: another process removes the same tombstones: stop. A znode of an id is
 * missing: delete each tombstone in a transaction of its own, so that this one does not keep the
 * others from being deleted. Any other failure: stop; a later call begins anew.
 */

#define EXACT_US 10000000 /* so long the local clock may carry on a time that a server told */
#define EVERY_US 30000000

static void next_bucket(struct zr_task *task);

struct zr_tidy *zr_tidy_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_queue_task_of(task), struct zr_tidy, queue_task);
}

static void stop(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

/* ---- 1., 4. The buckets -------------------------------------------------------------------- */

static void time_told(struct zr_task *task)
{
    if (task->outcome != ZR_OK) {
        stop(task);
        return;
    }
    zr_queue_tell(zr_queue_of(task), task->call->request.stat.mtime_ms);
    zr_tombstones_read(task);
}

/* Whether it was deleted or not. */
static void bucket_dropped(struct zr_task *task)
{
    next_bucket(task);
}

static void drop_bucket(struct zr_task *task)
{
    struct zr_tidy *tidy = zr_tidy_of(task);
    char name[ZR_BUCKET_NAME];
    zr_bucket_name(tidy->buckets[tidy->bucket_at - 1], name);
    char *full = zr_queue_full(zr_queue_of(task), tidy->done->path, name);
    const struct zr_request what = {.op = ZR_OP_DELETE, .path = full, .version = ZR_ANY_VERSION};
    if (full != NULL)
        zr_verb_ask(task, &what, false, ZR_STEP(bucket_dropped));
    else
        stop(task);
    zr_free(full);
}

void zr_tidy_next(struct zr_task *task)
{
    const struct zr_tidy *tidy = zr_tidy_of(task);
    if (tidy->item_at == tidy->item_count) {
        if (tidy->sealed)
            drop_bucket(task);
        else
            stop(task);
    } else if (zr_queue_age_us(zr_queue_of(task)) > EXACT_US) {
        zr_queue_ask_time(task, ZR_STEP(time_told));
    } else {
        zr_tombstones_read(task);
    }
}

static void bucket_listed(struct zr_task *task)
{
    struct zr_tidy *tidy = zr_tidy_of(task);
    tidy->sealed = task->outcome == ZR_NO_NODE || task->call->request.stat.version > 0;
    zr_free(tidy->names);
    zr_free(tidy->items);
    tidy->names = zr_take_names(task);
    tidy->items = zr_items_in_order(zr_queue_of(task), tidy->names, false, &tidy->item_count);
    tidy->item_at = 0;
    if (tidy->items != NULL && (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE))
        zr_tidy_next(task);
    else
        stop(task);
}

static void next_bucket(struct zr_task *task)
{
    struct zr_tidy *tidy = zr_tidy_of(task);
    char name[ZR_BUCKET_NAME];
    if (tidy->bucket_at == tidy->bucket_count) {
        stop(task);
        return;
    }
    zr_bucket_name(tidy->buckets[tidy->bucket_at++], name);
    zr_queue_read(task, ZR_OP_CHILDREN, tidy->done->path, name, ZR_STEP(bucket_listed));
}

static void buckets_listed(struct zr_task *task)
{
    struct zr_tidy *tidy = zr_tidy_of(task);
    struct zr_names *names = zr_take_names(task);
    tidy->buckets = zr_buckets_in_order(names, &tidy->bucket_count);
    zr_free(names);
    if (tidy->buckets != NULL)
        next_bucket(task);
    else
        stop(task);
}

static void begin(struct zr_task *task)
{
    zr_tidy_of(task)->done = zr_queue_lane(zr_queue_of(task), "done");
    if (zr_tidy_of(task)->done != NULL)
        zr_queue_read(task, ZR_OP_CHILDREN, zr_tidy_of(task)->done->path, "",
                      ZR_STEP(buckets_listed));
    else
        stop(task);
}

/* ---- The task ------------------------------------------------------------------------------ */

static void free_tidy(struct zr_task *task)
{
    struct zr_tidy *tidy = zr_tidy_of(task);
    zr_tombstones_forget(tidy);
    zr_free(tidy->buckets);
    zr_free(tidy->names);
    zr_free(tidy->items);
    zr_queue_task_free(task);
}

static const struct zr_task_kind kind = {.name = "queue:tidy", .free = free_tidy};

void zr_queue_tidy(struct zr_queue *queue)
{
    int64_t now_us = zr_engine_now_us(queue->znode.session->engine);
    struct zr_znode_task *znode_task;
    if (now_us < queue->tidy_at_us)
        return;
    if (zr_znode_task_new(sizeof(struct zr_tidy), &queue->znode.object, &znode_task) != ZR_OK)
        return;
    queue->tidy_at_us = now_us + EVERY_US;
    const struct zr_arg no_limit = {.given = false};
    zr_znode_task_start(znode_task, &kind, &no_limit, ZR_STEP(begin));
    zr_task_detach(&znode_task->task);
}
