#include <stdio.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/queue/claims.h"

/*
 * Finds the next items. It lists one bucket at a time, however long the queue is.
 * 1. Go through the lanes, the most urgent first (look_lanes.c).
 * 2. In each lane find the first bucket that has an unclaimed item: list the bucket, and list all
 *    claims. Delete void znodes (plain.c), and sealed, empty buckets, on the way.
 * 3. Keep our share of its items (batch.c).
 *
 * If the process watches what comes in, the reads leave watches, each before what it stands for is
 * listed: so no item comes unnoticed behind a listing.
 *
 * What can go wrong: a listed item may be gone when it is claimed; then the next one is tried. The
 * queue does not exist yet: there is no item.
 */

static void next_bucket(struct zr_task *task);

struct zr_search *zr_search_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_queue_task_of(task), struct zr_search, queue_task);
}

void zr_search_fini(struct zr_search *look)
{
    zr_batch_clear(&look->batch);
    zr_free(look->claimed);
    look->claimed = NULL;
    zr_free(look->queue_task.lanes);
    look->queue_task.lanes = NULL;
    zr_free(look->slots);
    zr_free(look->due);
    zr_free(look->due_at);
    look->slots = NULL;
    look->due = NULL;
    look->due_at = NULL;
    if (look->mover != NULL)
        zr_object_unref(&look->mover->object);
    look->mover = NULL;
    zr_errand_fini(&look->errand);
}

struct zr_names *zr_take_names(struct zr_task *task)
{
    struct zr_names *names = task->outcome == ZR_OK ? task->call->request.names : NULL;
    if (names != NULL)
        task->call->request.names = NULL;
    return names;
}

bool zr_search_answered(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        return true;
    zr_verb_fail(task, task->outcome);
    return false;
}

/* ---- A bucket ------------------------------------------------------------------------------ */

static void bucket_over(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    zr_batch_clear(&look->batch);
    if (look->sealed) {
        next_bucket(task);
        return;
    }
    look->queue_task.at++;
    zr_search_next_lane(task);
}

/* Whether it was deleted or not. */
static void dropped(struct zr_task *task)
{
    bucket_over(task);
}

static void forget_bucket(struct zr_lane *lane, int64_t number)
{
    size_t kept = 0;
    for (size_t i = 0; i < lane->bucket_count; i++)
        if (lane->buckets[i] != number)
            lane->buckets[kept++] = lane->buckets[i];
    lane->bucket_count = kept;
}

/* Deletes the znode of this name in the bucket; or the bucket, if the name is empty. */
static void drop(struct zr_task *task, const char *name, struct zr_next next)
{
    struct zr_search *look = zr_search_of(task);
    char more[ZR_BUCKET_NAME + ZR_ITEM_TAG + 64], bucket[ZR_BUCKET_NAME];
    snprintf(more, sizeof(more), "%s%s%s", zr_bucket_name(look->after, bucket),
             name[0] != '\0' ? "/" : "", name);
    char *full = zr_queue_full(zr_queue_of(task), look->lane->path, more);
    const struct zr_request what = {.op = ZR_OP_DELETE, .path = full, .version = ZR_ANY_VERSION};
    if (full != NULL)
        zr_verb_ask(task, &what, false, next);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
    zr_free(full);
}

static void drop_bucket(struct zr_task *task)
{
    const struct zr_search *look = zr_search_of(task);
    forget_bucket(look->lane, look->after);
    drop(task, "", ZR_STEP(dropped));
}

/* The bucket has no item for us. If it has a void znode, that one's producer died before it put its
   item again; or it is about to, and finds that the znode is gone. */
static void no_item(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    struct zr_batch *batch = &look->batch;
    while (batch->names != NULL && batch->next < batch->names->count) {
        const char *name = batch->names->at[batch->next++];
        if (zr_is_void(name, zr_queue_of(task)->bucket_size)) {
            drop(task, name, ZR_STEP(no_item));
            return;
        }
    }
    if (look->empty && look->sealed)
        drop_bucket(task);
    else
        bucket_over(task);
}

static void share(struct zr_task *task)
{
    zr_batch_share(zr_search_of(task));
    zr_search_of(task)->found(task);
}

static void filter(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    if (zr_batch_filter(look) != ZR_OK)
        zr_verb_fail(task, ZR_NO_MEMORY);
    else if (look->batch.count > 0)
        zr_attend_rank(task, share);
    else
        no_item(task);
}

/* The directory is older than all items. Without it no item can be claimed. */
static void claims_listed(struct zr_task *task)
{
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    struct zr_names *names = zr_search_of(task)->claimed = zr_take_names(task);
    if (names != NULL)
        zr_names_sort(names);
    filter(task);
}

/* ---- What is in a bucket ------------------------------------------------------------------- */

static void sift(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    const char *root = zr_queue_of(task)->znode.path;
    zr_unreadable_prune(&zr_queue_of(task)->consumer, &look->batch);
    look->empty = look->batch.count == 0;
    if (look->empty)
        no_item(task);
    else if (look->claimed != NULL)
        filter(task);
    else
        zr_queue_read(task, ZR_OP_CHILDREN, root, "/claims", ZR_STEP(claims_listed));
}

static void bucket_listed(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    if (!zr_search_answered(task))
        return;
    look->sealed = task->outcome == ZR_NO_NODE || task->call->request.stat.version > 0;
    zr_batch_clear(&look->batch);
    look->batch.lane = look->lane;
    look->batch.bucket = look->after;
    look->batch.names = zr_take_names(task);
    look->batch.at =
        zr_items_in_order(zr_queue_of(task), look->batch.names, false, &look->batch.count);
    if (look->batch.at != NULL)
        sift(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void newest_listed(struct zr_task *task)
{
    zr_newest_listed(task, zr_search_of(task)->lane);
    bucket_listed(task);
}

static void list_bucket(struct zr_task *task, bool newest)
{
    struct zr_search *look = zr_search_of(task);
    char name[ZR_BUCKET_NAME];
    if (look->watches && newest)
        zr_newest_list(task, look->lane, look->after, ZR_STEP(newest_listed));
    else
        zr_queue_read(task, ZR_OP_CHILDREN, look->lane->path, zr_bucket_name(look->after, name),
                      ZR_STEP(bucket_listed));
}

/* ---- The buckets of a lane ----------------------------------------------------------------- */

static void buckets_listed(struct zr_task *task)
{
    struct zr_lane *lane = zr_search_of(task)->lane;
    if (!zr_search_answered(task))
        return;
    struct zr_names *names = zr_take_names(task);
    zr_free(lane->buckets);
    lane->buckets = zr_buckets_in_order(names, &lane->bucket_count);
    zr_free(names);
    if (lane->buckets != NULL)
        next_bucket(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

/* Looks at the next known bucket. If there is none, lists the buckets again. */
static void next_bucket(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    const struct zr_lane *lane = look->lane;
    size_t i = 0;
    while (i < lane->bucket_count && lane->buckets[i] <= look->after)
        i++;
    if (i < lane->bucket_count) {
        look->after = lane->buckets[i];
        look->relisted = false;
        list_bucket(task, i + 1 == lane->bucket_count);
    } else if (!look->relisted) {
        look->relisted = true;
        zr_queue_read(task, ZR_OP_CHILDREN, lane->path, "", ZR_STEP(buckets_listed));
    } else {
        look->queue_task.at++;
        zr_search_next_lane(task);
    }
}

void zr_search_lane(struct zr_task *task, struct zr_lane *lane)
{
    struct zr_search *look = zr_search_of(task);
    look->lane = lane;
    look->after = -1;
    look->relisted = false;
    next_bucket(task);
}
