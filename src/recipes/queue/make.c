#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/put.h"

/*
 * What a put needs on the servers and does not find: the directories of the queue and its lanes;
 * the bucket of a minute of delayed items; the folder of an id. Each request may be repeated.
 */

static void make_next(struct zr_task *task);

/* ---- The directories ----------------------------------------------------------------------- */

static const char *const folders[] = {"/lanes", "/claims", "/consumers"};
static const char *const lanes[] = {"dead", "later", "done"};
#define FOLDERS 3
#define LANES 4 /* those, and that of the put */

/* Makes the directory at the queue's path with this behind it, and its parents. */
static void ensure(struct zr_task *task, const char *more, struct zr_next next)
{
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_znode_task *znode_task = &zr_queue_task_of(task)->znode_task;
    zr_free(znode_task->parent);
    znode_task->parent = zr_queue_full(queue, queue->znode.path, more);
    if (znode_task->parent != NULL)
        zr_verb_ensure(task, znode_task->parent, false, next);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void lane_made(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NODE_EXISTS)
        make_next(task);
    else
        zr_verb_fail(task, task->outcome);
}

/* gives: the request that makes a lane with its first bucket; `later` has none, and the lane of a
   priority has no `out`. */
static enum zr_status new_lane(struct zr_queue *queue, const struct zr_lane *lane,
                               struct zr_call **call)
{
    static const char *const counted[] = {"", "/in", "/out", "/b-0000000000"};
    static const char *const plain[] = {"", "/in", "/b-0000000000"};
    bool priority = zr_lane_priority(lane->name) >= 0;
    size_t count = priority || strcmp(lane->name, "later") == 0 ? 3 : 4;
    size_t room = strlen(lane->path) + 16;
    char *text = zr_alloc(4 * room);
    struct zr_request parts[4];
    memset(parts, 0, sizeof(parts));
    if (text == NULL)
        return ZR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const char *more = priority ? plain[i] : counted[i];
        parts[i].path = strcat(strcpy(text + i * room, lane->path), more);
        parts[i].data = i == 0 ? (struct zr_bytes){"0", 1} : (struct zr_bytes){"", 0};
    }
    enum zr_status status = zr_call_new_multi(queue->znode.session, NULL, parts, count, call);
    zr_free(text);
    return status;
}

static void make_lane(struct zr_task *task, struct zr_lane *lane)
{
    struct zr_call *call;
    enum zr_status status = lane != NULL ? new_lane(zr_queue_of(task), lane, &call) : ZR_NO_MEMORY;
    if (status == ZR_OK)
        zr_verb_request(task, call, true, ZR_STEP(lane_made));
    else
        zr_verb_fail(task, status);
}

static void make_next(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    int at = put->making++;
    if (at < FOLDERS)
        ensure(task, folders[at], ZR_STEP(make_next));
    else if (at < FOLDERS + LANES - 1)
        make_lane(task, zr_queue_lane(zr_queue_of(task), lanes[at - FOLDERS]));
    else if (at < FOLDERS + LANES && put->lane != NULL)
        make_lane(task, put->lane);
    else
        put->made(task);
}

void zr_put_make(struct zr_task *task, void (*made)(struct zr_task *task))
{
    zr_put_of(task)->making = 0;
    zr_put_of(task)->made = made;
    make_next(task);
}

/* ---- The tail of a lane -------------------------------------------------------------------- */

static void tail_read(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    if (task->outcome == ZR_NO_NODE && put->missing++ < 2) {
        zr_put_make(task, zr_put_find_tail);
        return;
    }
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    int64_t tail = zr_bucket_number(task->call->request.data_reply);
    if (tail < 0) {
        zr_task_explain(task,
                        "the znode %s holds no number of a bucket, so no queue has created it; use "
                        "another path",
                        put->lane->path);
        zr_verb_fail(task, ZR_CONFLICT);
        return;
    }
    if (put->lane->tail < 0)
        zr_lane_set_tail(put->lane, tail);
    zr_put_append(task);
}

void zr_put_find_tail(struct zr_task *task)
{
    zr_queue_read(task, ZR_OP_GET, zr_put_of(task)->lane->path, "", ZR_STEP(tail_read));
}

/* ---- Slots and ids ------------------------------------------------------------------------- */

static void made(struct zr_task *task)
{
    zr_put_append(task);
}

static void make_slot(struct zr_task *task)
{
    char name[8 + ZR_BUCKET_NAME] = "/later", bucket[ZR_BUCKET_NAME];
    ensure(task, strcat(name, zr_bucket_name(zr_put_of(task)->bucket, bucket)), ZR_STEP(made));
}

static void slot_made(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NODE_EXISTS)
        zr_put_append(task);
    else if (task->outcome == ZR_NO_NODE)
        zr_put_make(task, make_slot); /* no directory is there yet */
    else
        zr_verb_fail(task, task->outcome);
}

void zr_put_make_slot(struct zr_task *task)
{
    struct zr_queue *queue = zr_queue_of(task);
    char name[8 + ZR_BUCKET_NAME] = "/later", bucket[ZR_BUCKET_NAME];
    strcat(name, zr_bucket_name(zr_put_of(task)->bucket, bucket));
    char *full = zr_queue_full(queue, queue->znode.path, name);
    const struct zr_request what = {.op = ZR_OP_CREATE, .path = full, .data = {"", 0}};
    if (full != NULL)
        zr_verb_ask(task, &what, true, ZR_STEP(slot_made));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
    zr_free(full);
}

void zr_put_make_folder(struct zr_task *task)
{
    const struct zr_put *put = zr_put_of(task);
    char folder[ZR_ID_PATH_MAX];
    strcpy(folder, put->id_path);
    folder[put->id_folder] = '\0';
    ensure(task, folder, ZR_STEP(made));
}

/* ---- The time ------------------------------------------------------------------------------ */

static void time_told(struct zr_task *task);

static void ask_time(struct zr_task *task)
{
    zr_queue_ask_time(task, ZR_STEP(time_told));
}

static void time_told(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE && zr_put_of(task)->missing++ < 2) {
        zr_put_make(task, ask_time);
    } else if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
    } else {
        zr_queue_tell(zr_queue_of(task), task->call->request.stat.mtime_ms);
        zr_put_of(task)->told(task);
    }
}

void zr_put_ask_time(struct zr_task *task, void (*told)(struct zr_task *task))
{
    zr_put_of(task)->told = told;
    ask_time(task);
}
