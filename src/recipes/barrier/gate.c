#include "recipes/barrier/gate.h"

#include <string.h>

#include "core/alloc.h"
#include "core/names.h"

/* What a barrier and a latch have in common: the object, its tasks, and how its znode is made. */

/* ---- The object ---------------------------------------------------------------------------- */

void zr_gate_free(struct zr_object *self)
{
    struct zr_gate *gate = (struct zr_gate *)self;
    struct zr_session *session = gate->session;
    zr_free(gate->path);
    zr_free(gate->full);
    zr_free(gate);
    zr_session_unuse(session);
}

enum zr_status zr_gate_new(size_t size, const struct zr_class *class, struct zr_session *session,
                           struct zr_args *args, struct zr_object **object)
{
    const char *path = args->at[0].bytes.at;
    if (strcmp(path, "/") == 0) {
        args->misuse = "path of a znode below the root expected, got the root";
        return ZR_BAD_ARGUMENTS;
    }
    struct zr_gate *gate = zr_alloc(size);
    if (gate == NULL)
        return ZR_NO_MEMORY;
    gate->object = (struct zr_object){class, 1};
    gate->session = session;
    zr_session_use(session);
    gate->path = zr_copy_string(path);
    gate->full = zr_path_join(session->namespace, path);
    *object = &gate->object;
    if (gate->path != NULL && gate->full != NULL)
        return ZR_OK;
    zr_object_unref(*object);
    return ZR_NO_MEMORY;
}

void zr_gate_get_path(struct zr_object *self, struct zr_sink *sink)
{
    zr_emit_string(sink, NULL, ((struct zr_gate *)self)->path);
}

void zr_gate_get_session(struct zr_object *self, struct zr_sink *sink)
{
    sink->object(sink, NULL, &((struct zr_gate *)self)->session->object);
}

/* ---- Its tasks ----------------------------------------------------------------------------- */

struct zr_gate_task *zr_gate_task_of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_gate_task, task);
}

struct zr_gate *zr_gate_of(struct zr_task *task)
{
    return zr_gate_task_of(task)->gate;
}

enum zr_status zr_gate_task_new(size_t size, struct zr_object *self, struct zr_gate_task **out)
{
    enum zr_status status = zr_session_usable(((struct zr_gate *)self)->session);
    if (status != ZR_OK)
        return status;
    struct zr_gate_task *gate_task = zr_alloc(size);
    if (gate_task == NULL)
        return ZR_NO_MEMORY;
    gate_task->gate = (struct zr_gate *)zr_object_ref(self);
    *out = gate_task;
    return ZR_OK;
}

void zr_gate_task_start(struct zr_gate_task *gate_task, const struct zr_task_kind *kind,
                        const struct zr_arg *limit, struct zr_next first)
{
    const struct zr_gate *gate = gate_task->gate;
    zr_task_start(&gate_task->task, kind, gate->session, gate->path,
                  limit->given ? limit->integer : -1, first);
}

void zr_gate_task_free(struct zr_task *task)
{
    struct zr_gate_task *gate_task = zr_gate_task_of(task);
    struct zr_object *gate = &gate_task->gate->object;
    zr_free(gate_task->parent);
    zr_free(gate_task);
    zr_object_unref(gate);
}

/* ---- Its znode ----------------------------------------------------------------------------- */

static void create(struct zr_task *task);

static void make_parent(struct zr_task *task)
{
    struct zr_gate_task *gate_task = zr_gate_task_of(task);
    const char *full = gate_task->gate->full;
    if (gate_task->parent == NULL)
        gate_task->parent = zr_copy(full, zr_path_parent_length(full));
    if (gate_task->parent != NULL)
        zr_verb_ensure(task, gate_task->parent, false, ZR_STEP(create));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void created(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        make_parent(task);
    else if (task->outcome == ZR_OK || task->outcome == ZR_NODE_EXISTS)
        zr_gate_task_of(task)->made.step(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void create(struct zr_task *task)
{
    const struct zr_gate_task *gate_task = zr_gate_task_of(task);
    const struct zr_request what = {
        .op = ZR_OP_CREATE, .path = gate_task->gate->full, .data = gate_task->data};
    zr_verb_ask(task, &what, true, ZR_STEP(created));
}

void zr_gate_make(struct zr_task *task, struct zr_bytes data, struct zr_next made)
{
    zr_gate_task_of(task)->data = data;
    zr_gate_task_of(task)->made = made;
    create(task);
}
