#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * queue:remove(id): true; or false if there is no item with this id.
 * 1. Read the id's znode: it names the lane and the bucket of the item, and its tag.
 * 2. List the bucket: that gives the item's name.
 * 3. End the item in one transaction, unless it is claimed. Its tombstone takes its place, and the
 *    id's znode says that the item was removed (tidy.c). This is sent once: if its answer is lost,
 *    the caller is told so.
 *
 * What can go wrong: the item is moved or ended after its place was read: the id's znode changes
 * with it, so go to 1. If that znode is the same as before, there is no item.
 */

struct removal {
    struct zr_queue_task queue_task;
    char id_path[ZR_ID_PATH_MAX]; /* "/ids/2f/resize-17" */
    size_t folder;                /* how many bytes of it name its folder */
    struct zr_bytes id;
    int64_t said_zxid; /* mzxid of the id's znode when it was read last; 0: not yet */
    struct zr_place place;
    char said[ZR_PLACE_MAX]; /* room for the texts of `place` */
    struct zr_claim *item;   /* counted; or null */
    bool removed;
    struct zr_errand errand;
    char room[ZR_QUEUE_ID_MAX]; /* of `id` */
};

static void read_id(struct zr_task *task);

static struct removal *of(struct zr_task *task)
{
    return ZR_HOLDER(zr_queue_task_of(task), struct removal, queue_task);
}

static void forget_item(struct removal *removal)
{
    if (removal->item != NULL)
        zr_object_unref(&removal->item->object);
    removal->item = NULL;
}

/* ---- 3. The transaction -------------------------------------------------------------------- */

static bool is_unknown(enum zr_status status)
{
    return status == ZR_CONNECTION_LOSS || status == ZR_NO_MEMORY;
}

static void ended(struct zr_task *task)
{
    struct removal *removal = of(task);
    enum zr_status status = removal->errand.status;
    task->doubtful = is_unknown(status);
    forget_item(removal);
    if (status == ZR_OK) {
        removal->removed = true;
        zr_task_finish(task, ZR_OK);
    } else if (status == ZR_NO_NODE) {
        read_id(task);
    } else if (status == ZR_NODE_EXISTS) {
        zr_task_explain(task, "the item '%s' is claimed", removal->id_path + removal->folder + 1);
        zr_verb_fail(task, ZR_CONFLICT);
    } else {
        zr_verb_fail(task, status);
    }
}

static void end(struct zr_task *task)
{
    struct removal *removal = of(task);
    struct zr_append_options options = {.attempts = 0};
    struct zr_move_room room;
    enum zr_status status = zr_claim_move(removal->item, &options, &room);
    if (status == ZR_OK) {
        options.lane = (struct zr_bytes){"done", 4};
        options.put_count = ZR_NO_DATA;
        options.id = removal->id;
        options.version = ZR_ANY_VERSION;
        options.once = options.removed = true;
        status = zr_errand_run(&removal->errand, task, &options, (struct zr_bytes){"", 0},
                               ZR_STEP(ended));
        zr_free(room.paths);
    }
    if (status == ZR_OK)
        task->doubtful = true;
    else
        zr_verb_fail(task, status);
}

/* ---- 2. The item --------------------------------------------------------------------------- */

static const char *name_in(const struct zr_names *names, const char *tag)
{
    for (size_t i = 0; names != NULL && i < names->count; i++)
        if (zr_item_has_tag(names->at[i], tag))
            return names->at[i];
    return NULL;
}

static struct zr_lane *lane_of(struct zr_task *task)
{
    return zr_queue_lane(zr_queue_of(task), of(task)->place.lane);
}

static void bucket_listed(struct zr_task *task)
{
    struct removal *removal = of(task);
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    const struct zr_names *names = task->outcome == ZR_OK ? task->call->request.names : NULL;
    const char *name = name_in(names, removal->place.tag);
    struct zr_lane *lane = name != NULL ? lane_of(task) : NULL;
    if (name == NULL) {
        read_id(task);
        return;
    }
    if (lane != NULL)
        removal->item = zr_claim_new(zr_queue_of(task), lane, removal->place.bucket, name);
    if (removal->item != NULL)
        end(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

/* ---- 1. The id ----------------------------------------------------------------------------- */

static bool is_lane(const char *name)
{
    return strcmp(name, "dead") == 0 || strcmp(name, "later") == 0 || zr_lane_priority(name) >= 0;
}

static void find(struct zr_task *task, struct zr_bytes said)
{
    struct removal *removal = of(task);
    char bucket[ZR_BUCKET_NAME];
    bool item = zr_place_read(said, removal->said, &removal->place);
    const struct zr_lane *lane = item && is_lane(removal->place.lane) ? lane_of(task) : NULL;
    if (!item || !is_lane(removal->place.lane))
        zr_task_finish(task, ZR_OK);
    else if (lane != NULL)
        zr_queue_read(task, ZR_OP_CHILDREN, lane->path,
                      zr_bucket_name(removal->place.bucket, bucket), ZR_STEP(bucket_listed));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void id_read(struct zr_task *task)
{
    struct removal *removal = of(task);
    const struct zr_request *answer = &task->call->request;
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    if (task->outcome == ZR_NO_NODE || answer->stat.mzxid == removal->said_zxid) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    removal->said_zxid = answer->stat.mzxid;
    find(task, answer->data_reply);
}

static void read_id(struct zr_task *task)
{
    zr_queue_read(task, ZR_OP_GET, zr_queue_of(task)->znode.path, of(task)->id_path,
                  ZR_STEP(id_read));
}

/* ---- The method ---------------------------------------------------------------------------- */

static void emit(struct zr_task *task, struct zr_sink *sink)
{
    sink->boolean(sink, NULL, of(task)->removed);
}

static void free_removal(struct zr_task *task)
{
    forget_item(of(task));
    zr_errand_fini(&of(task)->errand);
    zr_queue_task_free(task);
}

/* It has no limit of the caller. */
static bool asking(const struct zr_task *task)
{
    (void)task;
    return true;
}

static const struct zr_task_kind kind = {
    .name = "queue:remove", .asking = asking, .results = emit, .free = free_removal};

enum zr_status zr_queue_start_remove(struct zr_object *self, struct zr_args *args,
                                     struct zr_task **task)
{
    const struct zr_bytes id = args->at[0].bytes;
    struct zr_znode_task *znode_task;
    enum zr_status status = zr_znode_task_new(sizeof(struct removal), self, &znode_task);
    if (status != ZR_OK)
        return status;
    *task = &znode_task->task;
    struct removal *removal = of(*task);
    removal->folder = zr_id_path(removal->id_path, id);
    memcpy(removal->room, id.at, id.length);
    removal->id = (struct zr_bytes){removal->room, id.length};
    removal->errand.queue = (struct zr_queue *)self;
    struct zr_arg limit = {.given = true,
                           .integer = zr_session_patience_us(znode_task->znode->session)};
    zr_znode_task_start(znode_task, &kind, &limit, ZR_STEP(read_id));
    return ZR_OK;
}
