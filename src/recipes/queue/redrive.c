#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * queue:redrive(limit): puts dead letters back as new items, and says how many.
 * 1. List the buckets of the dead letters, once; then one bucket after the other.
 * 2. Read each letter, and move it into the lane of its priority: none of its attempts counts any
 *    more. It keeps its tag, which identifies it if the answer is lost.
 *
 * Each letter has the time of one request, because there may be many.
 *
 * What can go wrong: another process is faster, or the znode is no item: go on with the next one.
 * The answer is lost, and the letter is gone: it counts, though another process may have been
 * faster. That one would have kept the tag, too, so nothing tells.
 */

struct redrive {
    struct zr_queue_task queue_task;
    int64_t limit, count;
    struct zr_lane *dead;
    int64_t *buckets; /* as listed; ours */
    size_t bucket_count, bucket_at;
    struct zr_names *names; /* of one bucket; ours */
    char **letters;         /* in order; ours */
    size_t letter_count, letter_at;
    struct zr_claim *letter; /* counted; or null */
    struct zr_errand errand;
};

static void next_letter(struct zr_task *task);

static struct redrive *of(struct zr_task *task)
{
    return ZR_HOLDER(zr_queue_task_of(task), struct redrive, queue_task);
}

static bool answered(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        return true;
    zr_verb_fail(task, task->outcome);
    return false;
}

static void forget_letter(struct redrive *redrive)
{
    if (redrive->letter != NULL)
        zr_object_unref(&redrive->letter->object);
    redrive->letter = NULL;
}

/* ---- A letter ------------------------------------------------------------------------------ */

static void moved(struct zr_task *task)
{
    enum zr_status status = of(task)->errand.status;
    of(task)->count += status == ZR_OK;
    zr_task_limit(task, zr_session_patience_us(task->session));
    if (status == ZR_OK || zr_was_faster(status))
        next_letter(task);
    else
        zr_verb_fail(task, status);
}

static void move(struct zr_task *task)
{
    struct redrive *redrive = of(task);
    struct zr_append_options options = {.attempts = 0};
    struct zr_move_room room;
    char lane[ZR_LANE_NAME];
    enum zr_status status = zr_claim_move(redrive->letter, &options, &room);
    if (status == ZR_OK) {
        zr_lane_name(redrive->letter->entry.priority, lane);
        options.lane = (struct zr_bytes){lane, strlen(lane)};
        options.put_count = options.claim = ZR_NO_DATA; /* no process claims it */
        status = zr_errand_run(&redrive->errand, task, &options, redrive->letter->entry.data,
                               ZR_STEP(moved));
        zr_free(room.paths);
    }
    if (status != ZR_OK)
        zr_verb_fail(task, status);
}

static void letter_read(struct zr_task *task)
{
    struct zr_claim *letter = of(task)->letter;
    if (!answered(task))
        return;
    if (task->outcome == ZR_NO_NODE) {
        next_letter(task);
        return;
    }
    struct zr_request *answer = &task->call->request;
    letter->data = (char *)answer->data_reply.at;
    letter->version = answer->stat.version;
    bool readable = zr_item_read(answer->data_reply, &letter->entry);
    answer->data_reply = ZR_NO_DATA;
    if (readable)
        move(task);
    else
        next_letter(task);
}

/* ---- The buckets --------------------------------------------------------------------------- */

static void bucket_listed(struct zr_task *task)
{
    struct redrive *redrive = of(task);
    if (!answered(task))
        return;
    zr_free(redrive->names);
    zr_free(redrive->letters);
    redrive->names = zr_take_names(task);
    redrive->letters =
        zr_items_in_order(zr_queue_of(task), redrive->names, false, &redrive->letter_count);
    redrive->letter_at = 0;
    if (redrive->letters != NULL)
        next_letter(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void next_bucket(struct zr_task *task)
{
    struct redrive *redrive = of(task);
    char name[ZR_BUCKET_NAME];
    if (redrive->bucket_at == redrive->bucket_count) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    zr_bucket_name(redrive->buckets[redrive->bucket_at++], name);
    zr_queue_read(task, ZR_OP_CHILDREN, redrive->dead->path, name, ZR_STEP(bucket_listed));
}

static void read_letter(struct zr_task *task, const char *name)
{
    struct redrive *redrive = of(task);
    int64_t bucket = redrive->buckets[redrive->bucket_at - 1];
    redrive->letter = zr_claim_new(zr_queue_of(task), redrive->dead, bucket, name);
    if (redrive->letter != NULL)
        zr_queue_read(task, ZR_OP_GET, redrive->letter->path, "", ZR_STEP(letter_read));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void next_letter(struct zr_task *task)
{
    struct redrive *redrive = of(task);
    forget_letter(redrive);
    if (redrive->count == redrive->limit)
        zr_task_finish(task, ZR_OK);
    else if (redrive->letter_at < redrive->letter_count)
        read_letter(task, redrive->letters[redrive->letter_at++]);
    else
        next_bucket(task);
}

static void buckets_listed(struct zr_task *task)
{
    struct redrive *redrive = of(task);
    if (!answered(task))
        return;
    struct zr_names *names = zr_take_names(task);
    redrive->buckets = zr_buckets_in_order(names, &redrive->bucket_count);
    zr_free(names);
    if (redrive->buckets != NULL)
        next_letter(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void begin(struct zr_task *task)
{
    struct redrive *redrive = of(task);
    redrive->dead = zr_queue_lane(zr_queue_of(task), "dead");
    if (redrive->limit == 0)
        zr_task_finish(task, ZR_OK);
    else if (redrive->dead != NULL)
        zr_queue_read(task, ZR_OP_CHILDREN, redrive->dead->path, "", ZR_STEP(buckets_listed));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

/* ---- The method ---------------------------------------------------------------------------- */

static void emit(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, of(task)->count);
}

static void free_redrive(struct zr_task *task)
{
    struct redrive *redrive = of(task);
    forget_letter(redrive);
    zr_errand_fini(&redrive->errand);
    zr_free(redrive->buckets);
    zr_free(redrive->names);
    zr_free(redrive->letters);
    zr_queue_task_free(task);
}

/* It has no limit of the caller. */
static bool asking(const struct zr_task *task)
{
    (void)task;
    return true;
}

static const struct zr_task_kind kind = {
    .name = "queue:redrive", .asking = asking, .results = emit, .free = free_redrive};

enum zr_status zr_queue_start_redrive(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    enum zr_status status = zr_znode_task_new(sizeof(struct redrive), self, &znode_task);
    if (status != ZR_OK)
        return status;
    *task = &znode_task->task;
    of(*task)->limit = args->at[0].given ? args->at[0].integer : -1;
    of(*task)->errand.queue = (struct zr_queue *)self;
    struct zr_arg limit = {.given = true,
                           .integer = zr_session_patience_us(znode_task->znode->session)};
    zr_znode_task_start(znode_task, &kind, &limit, ZR_STEP(begin));
    return ZR_OK;
}
