#include "core/alloc.h"
#include "core/names.h"
#include "recipes/queue/simple.h"

/*
 * Looks at the items of a queue of the simple format: walk() gives one after the other, peek() the
 * first.
 * 1. List, once.
 * 2. Read the next item.
 *
 * What can go wrong: the item is gone: read the next one. Several coroutines use one walk: the
 * first listing counts, and the first that has read an item gives it; the others read on.
 */

struct walk {
    struct zr_object object;
    struct zr_simple *simple; /* counted */
    struct zr_names *names;   /* null: not listed yet, or there is no item */
    size_t next;
    bool listed;
};

struct step {
    struct zr_simple_task lists;
    struct walk *walk;    /* counted */
    size_t at;            /* of its names */
    char *path;           /* of the item that is read: full; ours; null: there is none */
    struct zr_bytes data; /* ours */
};

static void next(struct zr_task *task);

static struct step *of(struct zr_task *task)
{
    return ZR_HOLDER(zr_simple_task_of(task), struct step, lists);
}

static void forget_item(struct step *step)
{
    zr_free(step->path);
    step->path = NULL;
}

static void item_read(struct zr_task *task)
{
    struct step *step = of(task);
    struct walk *walk = step->walk;
    struct zr_request *answer = &task->call->request;
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    bool first = walk->next == step->at;
    walk->next += first;
    if (!first || task->outcome == ZR_NO_NODE) {
        forget_item(step);
        next(task);
        return;
    }
    step->data = answer->data_reply;
    answer->data_reply = ZR_NO_DATA;
    zr_task_finish(task, ZR_OK);
}

static void listed(struct zr_task *task)
{
    struct walk *walk = of(task)->walk;
    if (!walk->listed) {
        walk->names = of(task)->lists.names;
        of(task)->lists.names = NULL;
    }
    walk->listed = true;
    next(task);
}

static void next(struct zr_task *task)
{
    struct step *step = of(task);
    const struct walk *walk = step->walk;
    if (!walk->listed) {
        zr_simple_list(task, false, listed);
        return;
    }
    if (walk->names == NULL || walk->next == walk->names->count) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    step->at = walk->next;
    step->path = zr_path_child(walk->simple->znode.full, walk->names->at[step->at]);
    if (step->path != NULL)
        zr_verb_read(task, ZR_OP_GET, step->path, false, ZR_STEP(item_read));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

/* ---- The task ------------------------------------------------------------------------------ */

static void emit_item(struct step *step, struct zr_sink *sink)
{
    const char *namespace = step->lists.znode_task.task.session->namespace;
    sink->begin(sink, NULL);
    sink->bytes(sink, "data", step->data);
    zr_emit_string(sink, "path", zr_path_inside(namespace, step->path));
    sink->end(sink);
}

static void emit_next(struct zr_task *task, struct zr_sink *sink)
{
    if (of(task)->path != NULL)
        emit_item(of(task), sink);
    else
        sink->nothing(sink, NULL);
}

static void emit_first(struct zr_task *task, struct zr_sink *sink)
{
    if (of(task)->path != NULL)
        emit_item(of(task), sink);
    else
        sink->boolean(sink, NULL, false);
}

static void free_step(struct zr_task *task)
{
    struct zr_object *walk = &of(task)->walk->object;
    forget_item(of(task));
    zr_free((char *)of(task)->data.at);
    zr_simple_task_free(task);
    zr_object_unref(walk);
}

/* They have no limit of the caller. */
static bool asking(const struct zr_task *task)
{
    (void)task;
    return true;
}

static const struct zr_task_kind next_kind = {
    .name = "queue:items", .asking = asking, .results = emit_next, .free = free_step};
static const struct zr_task_kind peek_kind = {
    .name = "queue:peek", .asking = asking, .results = emit_first, .free = free_step};

/* takes: a reference to the walk. */
static enum zr_status start(struct walk *walk, const struct zr_task_kind *kind,
                            struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    enum zr_status status =
        zr_znode_task_new(sizeof(struct step), &walk->simple->znode.object, &znode_task);
    if (status != ZR_OK) {
        zr_object_unref(&walk->object);
        return status;
    }
    struct zr_arg limit = {.given = true,
                           .integer = zr_session_patience_us(znode_task->znode->session)};
    *task = &znode_task->task;
    of(*task)->walk = walk;
    zr_znode_task_start(znode_task, kind, &limit, ZR_STEP(next));
    return ZR_OK;
}

/* ---- The walk ------------------------------------------------------------------------------ */

static void free_walk(struct zr_object *self)
{
    struct walk *walk = (struct walk *)self;
    struct zr_object *simple = &walk->simple->znode.object;
    zr_free(walk->names);
    zr_free(walk);
    zr_object_unref(simple);
}

/* next(): the next item, or nil. */
static enum zr_status start_next(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    (void)args;
    return start((struct walk *)zr_object_ref(self), &next_kind, task);
}

static const struct zr_method methods[] = {
    {.name = "next", .args = "", .start = start_next, .inner = true}, {.name = NULL}};

static const struct zr_property properties[] = {{NULL, NULL}};

const struct zr_class zr_simple_walk_class = {"simple_walk", methods, properties, NULL, free_walk};

enum zr_status zr_simple_make_walk(struct zr_object *self, struct zr_args *args,
                                   struct zr_object **object)
{
    struct walk *walk = zr_alloc(sizeof(*walk));
    (void)args;
    if (walk == NULL)
        return ZR_NO_MEMORY;
    walk->object = (struct zr_object){&zr_simple_walk_class, 1};
    walk->simple = (struct zr_simple *)zr_object_ref(self);
    *object = &walk->object;
    return ZR_OK;
}

/* peek(): the first item, or false. */
enum zr_status zr_simple_start_peek(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    struct zr_object *walk;
    enum zr_status status = zr_simple_make_walk(self, args, &walk);
    return status == ZR_OK ? start((struct walk *)walk, &peek_kind, task) : status;
}
