#include "core/alloc.h"
#include "core/verbs.h"
#include "recipes/hold.h"

/*
 * hold:lost(), and what on_lost in Lua waits for:
 *
 * 1. If the hold is held, a watch is set on its own node: one for all callers. It is a task, the
 *    hold's `guard`.
 * 2. Wait until the hold is let go: it was released, its session is lost or closed, or the guard
 *    finds that the node is gone.
 *
 * What can go wrong: the watch is refused. `lost` reports that; on_lost waits without it.
 */

/* ---- The guard ----------------------------------------------------------------------------- */

static void guard_done(struct zr_task *task)
{
    struct zr_hold *hold = ZR_HOLDER(task, struct zr_hold, guard);
    hold->guarded = false; /* it ends here, so no interruption is needed */
    zr_hold_lost(hold);
    zr_task_finish(task, ZR_OK);
}

static void guard_watch(struct zr_task *task)
{
    const struct zr_seat *seat = &ZR_HOLDER(task, struct zr_hold, guard)->seat;
    /* A name with a stem never comes back, so any czxid will do. A ranked term's token is not the
       czxid of its node. */
    int64_t czxid = seat->stem == NULL ? seat->czxid : 0;
    zr_verb_await_deleted(task, seat->path, czxid, ZR_STEP(guard_done));
}

/* The watch may have been refused: too much is watched, or the ACL denies the read. */
static void guard_free(struct zr_task *task)
{
    struct zr_hold *hold = ZR_HOLDER(task, struct zr_hold, guard);
    hold->guarded = false;
    if (hold->state == ZR_HELD && task->status != ZR_OK)
        zr_signal_fire(&hold->over, task->status);
    zr_object_unref(&hold->object);
}

static const struct zr_task_kind guard_kind = {
    .name = "hold:lost", .bound = true, .free = guard_free};

/* If a caller wants to be told of the loss, one watch is set on the hold's own node. */
static void watch_node(struct zr_hold *hold)
{
    if (hold->guarded)
        return;
    hold->guarded = true;
    zr_object_ref(&hold->object);
    zr_task_start(&hold->guard, &guard_kind, hold->session, hold->task.subject, -1,
                  ZR_STEP(guard_watch));
    zr_task_detach(&hold->guard);
}

/* ---- The wait ------------------------------------------------------------------------------ */

struct wait {
    struct zr_task task;
    struct zr_hold *hold; /* counted */
    bool contented;       /* it keeps waiting if the guard was refused */
};

static void wait_over(struct zr_task *task)
{
    struct wait *wait = ZR_HOLDER(task, struct wait, task);
    if (wait->hold->state != ZR_HELD)
        zr_task_finish(task, ZR_OK);
    else if (task->outcome != ZR_OK && !wait->contented)
        zr_task_finish(task, task->outcome);
    else
        zr_verb_await(task, &wait->hold->over, ZR_STEP(wait_over));
}

static void wait_results(struct zr_task *task, struct zr_sink *sink)
{
    enum zr_status why = ZR_HOLDER(task, struct wait, task)->hold->why;
    zr_emit_string(sink, NULL, why == ZR_OK ? "released" : zr_status_word(why));
}

static void wait_free(struct zr_task *task)
{
    struct wait *wait = ZR_HOLDER(task, struct wait, task);
    zr_object_unref(&wait->hold->object);
    zr_free(wait);
}

#define LOST_KIND(method)                                                                          \
    {                                                                                              \
        .name = (method), .outlives = true, .local = true, .own = true, .results = wait_results,   \
        .free = wait_free                                                                          \
    }

static const struct zr_task_kind hold_lost_kind = LOST_KIND("hold:lost");
static const struct zr_task_kind term_lost_kind = LOST_KIND("term:lost");

enum zr_status zr_hold_start_lost(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    struct zr_hold *hold = (struct zr_hold *)self;
    if (zr_engine_forked(hold->session->engine))
        return ZR_FORKED;
    struct wait *wait = zr_alloc(sizeof(*wait));
    if (wait == NULL)
        return ZR_NO_MEMORY;
    wait->hold = hold;
    wait->contented = args->at[1].given;
    zr_object_ref(self);
    if (hold->state == ZR_HELD)
        watch_node(hold);
    *task = &wait->task;
    const struct zr_task_kind *kind =
        self->class == &zr_hold_class ? &hold_lost_kind : &term_lost_kind;
    zr_task_start(*task, kind, hold->session, hold->task.subject,
                  args->at[0].given ? args->at[0].integer : -1, ZR_STEP(wait_over));
    return ZR_OK;
}
