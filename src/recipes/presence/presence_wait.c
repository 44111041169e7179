#include "core/alloc.h"
#include "recipes/presence/presence.h"

/*
 * presence:ready() waits until the znode is there; presence:update() until it has the new data;
 * presence:leave() until it is gone. If one of them gives up, the presence goes on.
 */

struct wait {
    struct zr_znode_task znode_task;
    uint32_t count;    /* of the data that it waits for */
    uint32_t failures; /* when it began */
};

static struct wait *wait_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_task_of(task), struct wait, znode_task);
}

static struct zr_presence *of(const struct zr_task *task)
{
    return (struct zr_presence *)ZR_HOLDER(task, struct zr_znode_task, task)->znode;
}

static void left(struct zr_task *task)
{
    task->detail = "the presence has left";
    zr_task_finish(task, ZR_CLOSED);
}

static bool has_failed(struct zr_task *task)
{
    const struct zr_presence *presence = of(task);
    bool in_vain = presence->wanted == presence->too_large; /* it is not tried again */
    return presence->problem != ZR_OK && (in_vain || presence->failures != wait_of(task)->failures);
}

static void check(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    task->detail = presence->state == ZR_PRESENCE_BLOCKED
                       ? "another znode is in the way; it is waited for"
                       : NULL;
    if (presence->left)
        left(task);
    else if (zr_presence_has(presence, wait_of(task)->count))
        zr_task_finish(task, ZR_OK);
    else if (has_failed(task))
        zr_verb_fail(task, presence->problem);
    else
        zr_verb_await(task, &presence->news, ZR_STEP(check));
}

static void gone(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    if (presence->running)
        zr_verb_await(task, &presence->news, ZR_STEP(gone));
    else
        zr_task_finish(task, ZR_OK);
}

/* The requests are those of the presence. */
static bool asking(const struct zr_task *task)
{
    return of(task)->task.asking;
}

#define KIND .asking = asking, .results = zr_emit_true, .free = zr_znode_task_free

static const struct zr_task_kind ready_kind = {.name = "presence:ready", .local = true, KIND};
static const struct zr_task_kind update_kind = {.name = "presence:update", .writes = true, KIND};
static const struct zr_task_kind leave_kind = {
    .name = "presence:leave", .writes = true, .outlives = true, KIND};

/* gives: a task that is not started. */
static struct zr_znode_task *new_task(struct zr_object *self)
{
    struct wait *wait = zr_alloc(sizeof(*wait));
    if (wait == NULL)
        return NULL;
    wait->znode_task.znode = (struct zr_znode *)zr_object_ref(self);
    return &wait->znode_task;
}

static enum zr_status start(struct zr_znode_task *znode_task, const struct zr_task_kind *kind,
                            const struct zr_arg *limit, struct zr_next first, struct zr_task **task)
{
    *task = &znode_task->task;
    wait_of(*task)->count = of(*task)->wanted;
    wait_of(*task)->failures = of(*task)->failures;
    zr_znode_task_start(znode_task, kind, limit, first);
    return ZR_OK;
}

enum zr_status zr_presence_ready(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    enum zr_status status = zr_session_usable(((struct zr_znode *)self)->session);
    if (status != ZR_OK)
        return status;
    struct zr_znode_task *znode_task = new_task(self);
    if (znode_task == NULL)
        return ZR_NO_MEMORY;
    return start(znode_task, &ready_kind, &args->at[0], ZR_STEP(check), task);
}

enum zr_status zr_presence_update(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    struct zr_presence *presence = (struct zr_presence *)self;
    enum zr_status status = zr_session_usable(presence->znode.session);
    if (status != ZR_OK)
        return status;
    struct zr_znode_task *znode_task = new_task(self);
    if (znode_task == NULL)
        return ZR_NO_MEMORY;
    if (!presence->left)
        status = zr_presence_give(presence, args->at[0].bytes);
    if (status == ZR_OK)
        return start(znode_task, &update_kind, &args->at[1], ZR_STEP(check), task);
    zr_znode_task_free(&znode_task->task);
    return status;
}

/* Also after the end of the session. */
enum zr_status zr_presence_start_leave(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task)
{
    struct zr_presence *presence = (struct zr_presence *)self;
    if (zr_engine_forked(presence->znode.session->engine))
        return ZR_FORKED;
    zr_presence_leave(presence);
    struct zr_znode_task *znode_task = new_task(self);
    if (znode_task == NULL)
        return ZR_NO_MEMORY;
    return start(znode_task, &leave_kind, &args->at[0], ZR_STEP(gone), task);
}
