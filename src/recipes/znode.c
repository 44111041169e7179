#include "recipes/znode.h"

#include <string.h>

#include "core/alloc.h"
#include "core/names.h"

/* What recipes at one znode have in common: the object, its tasks, and how its znode is made. */

/* ---- The object ---------------------------------------------------------------------------- */

void zr_znode_free(struct zr_object *self)
{
    struct zr_znode *znode = (struct zr_znode *)self;
    struct zr_session *session = znode->session;
    zr_free(znode->path);
    zr_free(znode->full);
    zr_free(znode);
    zr_session_unuse(session);
}

enum zr_status zr_znode_new(size_t size, const struct zr_class *class, struct zr_session *session,
                            struct zr_args *args, struct zr_object **object)
{
    const char *path = args->at[0].bytes.at;
    if (strcmp(path, "/") == 0) {
        args->misuse = "path of a znode below the root expected, got the root";
        return ZR_BAD_ARGUMENTS;
    }
    struct zr_znode *znode = zr_alloc(size);
    if (znode == NULL)
        return ZR_NO_MEMORY;
    znode->object = (struct zr_object){class, 1};
    znode->session = session;
    zr_session_use(session);
    znode->path = zr_copy_string(path);
    znode->full = zr_path_join(session->namespace, path);
    *object = &znode->object;
    if (znode->path != NULL && znode->full != NULL)
        return ZR_OK;
    zr_object_unref(*object);
    return ZR_NO_MEMORY;
}

void zr_znode_get_path(struct zr_object *self, struct zr_sink *sink)
{
    zr_emit_string(sink, NULL, ((struct zr_znode *)self)->path);
}

void zr_znode_get_session(struct zr_object *self, struct zr_sink *sink)
{
    sink->object(sink, NULL, &((struct zr_znode *)self)->session->object);
}

/* ---- Its tasks ----------------------------------------------------------------------------- */

struct zr_znode_task *zr_znode_task_of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_znode_task, task);
}

struct zr_znode *zr_znode_of(struct zr_task *task)
{
    return zr_znode_task_of(task)->znode;
}

enum zr_status zr_znode_task_new(size_t size, struct zr_object *self, struct zr_znode_task **out)
{
    enum zr_status status = zr_session_usable(((struct zr_znode *)self)->session);
    if (status != ZR_OK)
        return status;
    struct zr_znode_task *znode_task = zr_alloc(size);
    if (znode_task == NULL)
        return ZR_NO_MEMORY;
    znode_task->znode = (struct zr_znode *)zr_object_ref(self);
    *out = znode_task;
    return ZR_OK;
}

void zr_znode_task_start(struct zr_znode_task *znode_task, const struct zr_task_kind *kind,
                         const struct zr_arg *limit, struct zr_next first)
{
    const struct zr_znode *znode = znode_task->znode;
    zr_task_start(&znode_task->task, kind, znode->session, znode->path,
                  limit->given ? limit->integer : -1, first);
}

void zr_znode_task_free(struct zr_task *task)
{
    struct zr_znode_task *znode_task = zr_znode_task_of(task);
    struct zr_object *znode = &znode_task->znode->object;
    zr_free(znode_task->parent);
    zr_free(znode_task);
    zr_object_unref(znode);
}

/* ---- Its znode ----------------------------------------------------------------------------- */

static void create(struct zr_task *task);

static void make_parent(struct zr_task *task)
{
    struct zr_znode_task *znode_task = zr_znode_task_of(task);
    const char *full = znode_task->znode->full;
    if (znode_task->parent == NULL)
        znode_task->parent = zr_copy(full, zr_path_parent_length(full));
    if (znode_task->parent != NULL)
        zr_verb_ensure(task, znode_task->parent, false, ZR_STEP(create));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void created(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        make_parent(task);
    else if (task->outcome == ZR_OK || task->outcome == ZR_NODE_EXISTS)
        zr_znode_task_of(task)->made.step(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void create(struct zr_task *task)
{
    const struct zr_znode_task *znode_task = zr_znode_task_of(task);
    const struct zr_request what = {
        .op = ZR_OP_CREATE, .path = znode_task->znode->full, .data = znode_task->data};
    zr_verb_ask(task, &what, true, ZR_STEP(created));
}

void zr_znode_make(struct zr_task *task, struct zr_bytes data, struct zr_next made)
{
    zr_znode_task_of(task)->data = data;
    zr_znode_task_of(task)->made = made;
    create(task);
}
