#include "recipes/queue/queue.h"

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/queue/claims.h"

/*
 * Counts the items in the lane of a priority:
 * 1. List its buckets.
 * 2. Ask each bucket how many children it has; many buckets at the same time.
 * 3. List the buckets with few children, so that void znodes (plain.c) and those of other programs
 *    do not count. In a bucket with many children they count.
 *
 * What can go wrong: a lane or a bucket does not exist: it has no items.
 */

#define AT_ONCE 64
#define FEW 100

struct zr_census {
    struct zr_lane *lane;
    int64_t *buckets; /* in order; ours */
    size_t bucket_count, bucket_at;
    struct zr_call *reads[AT_ONCE]; /* of the buckets before `bucket_at` */
    size_t read_count, read_at, missing;
    struct zr_signal all_read;
};

static void read_some(struct zr_task *task);
static void judge_next(struct zr_task *task);

static struct zr_census *of(struct zr_task *task)
{
    return zr_queue_task_of(task)->census;
}

static void forget_reads(struct zr_census *census)
{
    for (size_t i = 0; i < census->read_count; i++)
        zr_call_free(census->reads[i]);
    census->read_count = census->read_at = census->missing = 0;
}

void zr_census_free(struct zr_census *census)
{
    if (census == NULL)
        return;
    forget_reads(census);
    zr_free(census->buckets);
    zr_free(census);
}

static bool answered(struct zr_task *task, enum zr_status status)
{
    if (status == ZR_OK || status == ZR_NO_NODE)
        return true;
    zr_verb_fail(task, status);
    return false;
}

/* ---- 3. Buckets with few children ---------------------------------------------------------- */

static void few_listed(struct zr_task *task)
{
    struct zr_queue *queue = zr_queue_of(task);
    size_t count;
    if (!answered(task, task->outcome))
        return;
    struct zr_names *names = zr_take_names(task);
    char **items = zr_items_in_order(queue, names, false, &count);
    zr_free(items);
    zr_free(names);
    zr_queue_task_of(task)->sum += (int64_t)count;
    if (items != NULL)
        judge_next(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void list_few(struct zr_task *task, int64_t bucket)
{
    char name[ZR_BUCKET_NAME];
    zr_queue_read(task, ZR_OP_CHILDREN, of(task)->lane->path, zr_bucket_name(bucket, name),
                  ZR_STEP(few_listed));
}

static void judge_next(struct zr_task *task)
{
    struct zr_census *census = of(task);
    while (census->read_at < census->read_count) {
        const struct zr_request *answer = &census->reads[census->read_at]->request;
        int64_t bucket = census->buckets[census->bucket_at - census->read_count + census->read_at];
        if (!answered(task, answer->status))
            return;
        census->read_at++;
        if (answer->status == ZR_OK && answer->stat.child_count > FEW) {
            zr_queue_task_of(task)->sum += answer->stat.child_count;
        } else if (answer->status == ZR_OK && answer->stat.child_count > 0) {
            list_few(task, bucket);
            return;
        }
    }
    forget_reads(census);
    read_some(task);
}

/* ---- 2. How many children ------------------------------------------------------------------ */

static void was_read(struct zr_call *call)
{
    struct zr_census *census = call->owner;
    if (call->request.status == ZR_CONNECTION_LOSS)
        zr_call_again(call);
    else if (--census->missing == 0)
        zr_signal_fire(&census->all_read, ZR_OK);
}

static enum zr_status read_one(struct zr_task *task, int64_t bucket)
{
    struct zr_census *census = of(task);
    struct zr_call *call;
    char name[ZR_BUCKET_NAME];
    zr_bucket_name(bucket, name);
    char *full = zr_queue_full(zr_queue_of(task), census->lane->path, name);
    enum zr_status status = ZR_NO_MEMORY;
    if (full != NULL)
        status = zr_call_new_full(task->session, ZR_OP_EXISTS, full, ZR_NO_DATA, &call);
    zr_free(full);
    if (status != ZR_OK)
        return status;
    census->reads[census->read_count++] = call;
    census->missing++;
    zr_call_start(call, was_read, census);
    return ZR_OK;
}

static void read_some(struct zr_task *task)
{
    struct zr_census *census = of(task);
    enum zr_status status = ZR_OK;
    if (census->bucket_at == census->bucket_count) {
        zr_count_next_lane(task);
        return;
    }
    zr_signal_init(&census->all_read);
    while (status == ZR_OK && census->bucket_at < census->bucket_count &&
           census->read_count < AT_ONCE)
        status = read_one(task, census->buckets[census->bucket_at++]);
    if (status == ZR_OK)
        zr_verb_await(task, &census->all_read, ZR_STEP(judge_next));
    else
        zr_verb_fail(task, status);
}

/* ---- 1. The buckets ------------------------------------------------------------------------ */

static void buckets_listed(struct zr_task *task)
{
    struct zr_census *census = of(task);
    if (!answered(task, task->outcome))
        return;
    struct zr_names *names = zr_take_names(task);
    zr_free(census->buckets);
    census->buckets = zr_buckets_in_order(names, &census->bucket_count);
    census->bucket_at = 0;
    zr_free(names);
    if (census->buckets != NULL)
        read_some(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

void zr_census_take(struct zr_task *task, struct zr_lane *lane)
{
    struct zr_queue_task *counts = zr_queue_task_of(task);
    if (counts->census == NULL)
        counts->census = zr_alloc(sizeof(*counts->census));
    if (counts->census == NULL) {
        zr_verb_fail(task, ZR_NO_MEMORY);
        return;
    }
    counts->census->lane = lane;
    forget_reads(counts->census);
    zr_queue_read(task, ZR_OP_CHILDREN, lane->path, "", ZR_STEP(buckets_listed));
}
