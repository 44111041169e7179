#include "recipes/queue/simple.h"

#include <stddef.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"

/*
 * The layout of ZooKeeper's own queue recipe (in Java and in C) and of Curator's
 * SimpleDistributedQueue: /path/qn-<number>, with the data as they are. It has no claims,
 * priorities, ids or delays.
 *
 * put, put_all: create one znode after the other. size: the number of znodes in the directory.
 *
 * What can go wrong: there is no directory yet: make it. The answer is lost: only the user can know
 * whether to put the item again. The sequence numbers end at 2147483647, and every further create
 * is refused, because there is such a znode.
 */

/* ---- Putting ------------------------------------------------------------------------------- */

struct put {
    struct zr_znode_task znode_task;
    size_t count, done; /* items */
    bool made;          /* the directory, for the item that is put now */
    bool limited;       /* by the caller */
    char *path;         /* of an item, without the number; ours */
    struct zr_bytes items[];
};

static void put_next(struct zr_task *task);

static struct put *put_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_task_of(task), struct put, znode_task);
}

static void made(struct zr_task *task)
{
    put_of(task)->made = true;
    put_next(task);
}

/* Without a limit of the caller, each item has the time of one request. */
static void one_done(struct zr_task *task)
{
    struct put *put = put_of(task);
    put->made = false;
    if (++put->done < put->count && !put->limited)
        zr_task_limit(task, zr_session_patience_us(task->session));
    put_next(task);
}

static void created(struct zr_task *task)
{
    if (task->outcome == ZR_OK) {
        one_done(task);
    } else if (task->outcome == ZR_NO_NODE && !put_of(task)->made) {
        zr_verb_ensure(task, zr_znode_of(task)->full, false, ZR_STEP(made));
    } else if (task->outcome == ZR_NODE_EXISTS) {
        task->detail = "the directory has used up its sequence numbers; delete it when it is "
                       "empty, and the next put creates it";
        zr_verb_fail(task, ZR_FULL);
    } else {
        zr_verb_fail(task, task->outcome);
    }
}

static void put_next(struct zr_task *task)
{
    const struct put *put = put_of(task);
    if (put->done == put->count) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    const struct zr_request what = {.op = ZR_OP_CREATE,
                                    .path = put->path,
                                    .data = put->items[put->done],
                                    .mode = ZR_PERSISTENT_SEQUENTIAL};
    zr_verb_ask(task, &what, false, ZR_STEP(created));
}

static void emit_count(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, (int64_t)put_of(task)->done);
}

static void free_put(struct zr_task *task)
{
    zr_free(put_of(task)->path);
    zr_znode_task_free(task);
}

static const struct zr_task_kind put_kind = {
    .name = "queue:put", .writes = true, .results = zr_emit_true, .free = free_put};
static const struct zr_task_kind put_all_kind = {.name = "queue:put_all",
                                                 .writes = true,
                                                 .results = emit_count,
                                                 .failed = emit_count,
                                                 .free = free_put};

/* gives: a task with copies of these data. */
static enum zr_status new_put(struct zr_object *self, const struct zr_bytes *items, size_t count,
                              struct put **out)
{
    struct zr_znode_task *znode_task;
    size_t size = sizeof(struct put) + count * sizeof(items[0]);
    for (size_t i = 0; i < count; i++)
        size += items[i].length;
    enum zr_status status = zr_znode_task_new(size, self, &znode_task);
    if (status != ZR_OK)
        return status;
    struct put *put = *out = put_of(&znode_task->task);
    char *room = (char *)(put->items + count);
    put->count = count;
    for (size_t i = 0; i < count; i++) {
        put->items[i] = (struct zr_bytes){room, items[i].length};
        memcpy(room, items[i].at, items[i].length);
        room += items[i].length;
    }
    put->path = zr_path_child(znode_task->znode->full, "qn-");
    if (put->path != NULL)
        return ZR_OK;
    free_put(&znode_task->task);
    return ZR_NO_MEMORY;
}

static enum zr_status start(struct zr_object *self, const struct zr_bytes *items, size_t count,
                            int64_t limit_us, const struct zr_task_kind *kind,
                            struct zr_task **task)
{
    struct put *put;
    enum zr_status status = new_put(self, items, count, &put);
    if (status != ZR_OK)
        return status;
    struct zr_znode_task *znode_task = &put->znode_task;
    const struct zr_session *session = znode_task->znode->session;
    put->limited = limit_us >= 0;
    struct zr_arg limit = {.given = true,
                           .integer = put->limited ? limit_us : zr_session_patience_us(session)};
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, kind, &limit, ZR_STEP(put_next));
    return ZR_OK;
}

struct put_options {
    int64_t timeout_us;
};

static const struct zr_option put_options[] = {
    {"timeout", 't', offsetof(struct put_options, timeout_us)}, {NULL, 0, 0}};

/* put(data, options) */
static enum zr_status start_put(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    const struct put_options *options = args->options;
    return start(self, &args->at[0].bytes, 1, options->timeout_us, &put_kind, task);
}

/* put_all(list of data [, timeout]) */
static enum zr_status start_put_all(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    const struct zr_arg *list = &args->at[0], *limit = &args->at[1];
    return start(self, list->list, list->count, limit->given ? limit->integer : -1, &put_all_kind,
                 task);
}

/* ---- size ---------------------------------------------------------------------------------- */

struct size {
    struct zr_znode_task znode_task;
    int32_t count;
};

static struct size *size_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_task_of(task), struct size, znode_task);
}

static void counted(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (status == ZR_OK)
        size_of(task)->count = task->call->request.stat.child_count;
    zr_task_finish(task, status == ZR_NO_NODE ? ZR_OK : status);
}

static void count(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_EXISTS, zr_znode_of(task)->full, false, ZR_STEP(counted));
}

static void emit_size(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, size_of(task)->count);
}

static const struct zr_task_kind size_kind = {
    .name = "queue:size", .results = emit_size, .free = zr_znode_task_free};

static enum zr_status start_size(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    enum zr_status status = zr_znode_task_new(sizeof(struct size), self, &znode_task);
    if (status != ZR_OK)
        return status;
    const struct zr_session *session = znode_task->znode->session;
    struct zr_arg limit = {.given = true, .integer = zr_session_limit_us(session, &args->at[0])};
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, &size_kind, &limit, ZR_STEP(count));
    return ZR_OK;
}

/* ---- The class ----------------------------------------------------------------------------- */

static void free_simple(struct zr_object *self)
{
    zr_free(((struct zr_simple *)self)->names);
    zr_znode_free(self);
}

static const struct zr_method methods[] = {
    {.name = "put",
     .args = "do?",
     .options = put_options,
     .options_size = sizeof(struct put_options),
     .start = start_put,
     .inner = true},
    {.name = "put_all", .args = "lt?", .start = start_put_all, .inner = true},
    {.name = "take", .args = "t?", .start = zr_simple_start_take, .inner = true},
    {.name = "peek", .args = "", .start = zr_simple_start_peek, .inner = true},
    {.name = "size", .args = "t?", .start = start_size, .inner = true},
    {.name = "walk", .args = "", .make = zr_simple_make_walk, .inner = true},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", zr_znode_get_path}, {"session", zr_znode_get_session}, {NULL, NULL}};

const struct zr_class zr_simple_class = {"simple_queue", methods, properties, NULL, free_simple};

/* simple_queue(path, names that are listed at most) */
static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    enum zr_status status =
        zr_znode_new(sizeof(struct zr_simple), &zr_simple_class, session, args, object);
    if (status != ZR_OK)
        return status;
    struct zr_simple *simple = (struct zr_simple *)*object;
    simple->most = args->at[1].integer;
    zr_signal_init(&simple->looked);
    zr_signal_init(&simple->news);
    return ZR_OK;
}

const struct zr_recipe zr_simple_recipe = {
    .name = "simple_queue", .args = "pi", .inner = true, .make = make};
