#include "recipes/hold.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"

/*
 * The life of a hold:
 * 1. A recipe's steps bring its seat to the head of the queue and grant it.
 * 2. It is tied to the session: if the session is lost, so is the hold.
 * 3. release: it counts as released at once; in the background the node is deleted until it is
 *    certainly gone.
 *
 * What can go wrong: another client deletes the node under the holder. A watch on the node tells a
 * caller that waits for the loss (lost, on_lost). A guarded write finds it out in any case, because
 * it includes a check of the node. If the watch is refused, `lost` reports that; on_lost waits
 * without it. The user forgets the hold: it is released when the garbage collector runs.
 */

static void let_go(struct zr_hold *hold, enum zr_status why)
{
    hold->state = ZR_LET_GO;
    hold->why = why;
    zr_unlink(&hold->tie.link);
    zr_signal_fire(&hold->over, ZR_OK);
    if (hold->guarded)
        zr_task_interrupt(&hold->guard, ZR_CANCELED);
}

static void cut(struct zr_tie *tie, enum zr_status why)
{
    struct zr_hold *hold = ZR_HOLDER(tie, struct zr_hold, tie);
    zr_seat_gone(&hold->seat);
    let_go(hold, why);
}

struct zr_hold *zr_hold_new(struct zr_session *session, struct zr_object *owner, const char *dir,
                            const struct zr_stem *stem, struct zr_bytes data)
{
    return zr_hold_new_sized(sizeof(struct zr_hold), session, owner, dir, stem, data);
}

struct zr_hold *zr_hold_new_sized(size_t size, struct zr_session *session, struct zr_object *owner,
                                  const char *dir, const struct zr_stem *stem, struct zr_bytes data)
{
    struct zr_hold *hold = zr_alloc(size);
    if (hold == NULL)
        return NULL;
    hold->object = (struct zr_object){&zr_hold_class, 1};
    hold->session = session;
    hold->owner = zr_object_ref(owner);
    hold->tie.cut = cut;
    zr_signal_init(&hold->over);
    hold->position = -1;
    hold->since_us = zr_engine_now_us(session->engine);
    zr_seat_init(&hold->seat, session, dir, stem, data);
    zr_session_use(session);
    return hold;
}

struct zr_hold *zr_hold_of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_hold, task);
}

void zr_hold_grant(struct zr_hold *hold)
{
    struct zr_session *session = hold->session;
    hold->state = ZR_HELD;
    hold->since_us = zr_engine_now_us(session->engine);
    zr_list_append(&session->ties, &hold->tie.link);
    zr_task_finish(&hold->task, ZR_OK);
}

static void vacated(struct zr_task *task)
{
    zr_task_finish(task, task->status);
}

void zr_hold_clean(struct zr_task *task)
{
    zr_verb_vacate(task, &zr_hold_of(task)->seat, ZR_STEP(vacated));
}

void zr_hold_results(struct zr_task *task, struct zr_sink *sink)
{
    sink->object(sink, NULL, &zr_hold_of(task)->object);
}

void zr_hold_free_task(struct zr_task *task)
{
    zr_object_unref(&zr_hold_of(task)->object);
}

void zr_hold_lost(struct zr_hold *hold)
{
    if (hold->state != ZR_HELD)
        return;
    zr_seat_gone(&hold->seat);
    let_go(hold, ZR_LOST);
}

/* ---- Release ------------------------------------------------------------------------------- */

static const struct zr_task_kind release_kind = {
    .name = "hold:release",
    .clean = zr_hold_clean,
    .bound = true,
    .free = zr_hold_free_task,
};

static void release(struct zr_hold *hold)
{
    if (hold->state != ZR_HELD || zr_engine_forked(hold->session->engine))
        return;
    let_go(hold, ZR_OK);
    zr_object_ref(&hold->object);
    zr_task_start_cleaning(&hold->task, &release_kind, hold->session);
}

/* Granted, but the waiter had given up: what its task held is released at once. */
void zr_hold_discard(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    zr_object_ref(&hold->object);
    zr_task_release(task);
    release(hold);
    zr_object_unref(&hold->object);
}

enum zr_status zr_hold_release(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    (void)args;
    release((struct zr_hold *)self);
    sink->boolean(sink, NULL, true);
    return ZR_OK;
}

/* ---- Is it still ours? --------------------------------------------------------------------- */

enum zr_status zr_hold_valid(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    (void)args;
    struct zr_hold *hold = (struct zr_hold *)self;
    sink->boolean(sink, NULL,
                  hold->state == ZR_HELD && zr_session_valid(hold->session, hold->seat.generation));
    return ZR_OK;
}

enum zr_status zr_hold_left(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    (void)args;
    const struct zr_hold *hold = (const struct zr_hold *)self;
    bool held = hold->state == ZR_HELD;
    int64_t left_us = held ? zr_session_left_us(hold->session, hold->seat.generation) : 0;
    sink->number(sink, NULL, (double)left_us / 1e6);
    return ZR_OK;
}

enum zr_status zr_hold_over(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    (void)args;
    struct zr_hold *hold = (struct zr_hold *)self;
    sink->boolean(sink, NULL,
                  hold->state == ZR_LET_GO || zr_session_usable(hold->session) != ZR_OK ||
                      hold->session->generation != hold->seat.generation);
    return ZR_OK;
}

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

struct wait {
    struct zr_task task;
    struct zr_hold *hold; /* counted */
    bool contented;       /* it waits on when the guard was refused */
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

/* ---- The class ----------------------------------------------------------------------------- */

static void get_token(struct zr_object *self, struct zr_sink *sink)
{
    sink->id(sink, NULL, ((struct zr_hold *)self)->seat.czxid);
}

static void get_path(struct zr_object *self, struct zr_sink *sink)
{
    struct zr_hold *hold = (struct zr_hold *)self;
    if (hold->seat.path != NULL)
        zr_emit_string(sink, NULL, zr_path_inside(hold->session->namespace, hold->seat.path));
    else
        sink->nothing(sink, NULL);
}

static void get_since(struct zr_object *self, struct zr_sink *sink)
{
    sink->number(sink, NULL, (double)((struct zr_hold *)self)->since_us / 1e6);
}

static void get_shared(struct zr_object *self, struct zr_sink *sink)
{
    const struct zr_seat *seat = &((struct zr_hold *)self)->seat;
    sink->boolean(sink, NULL, zr_shares(seat->stem, seat->word));
}

static void get_permits(struct zr_object *self, struct zr_sink *sink)
{
    int32_t permits = ((struct zr_hold *)self)->permits;
    if (permits > 0)
        sink->integer(sink, NULL, permits);
    else
        sink->nothing(sink, NULL);
}

void zr_hold_forget(struct zr_object *self)
{
    release((struct zr_hold *)self);
}

void zr_hold_free(struct zr_object *self)
{
    struct zr_hold *hold = (struct zr_hold *)self;
    struct zr_object *owner = hold->owner;
    struct zr_session *session = hold->session;
    zr_unlink(&hold->tie.link);
    if (hold->fini != NULL)
        hold->fini(hold);
    zr_seat_fini(&hold->seat);
    zr_free(hold);
    zr_object_unref(owner);
    zr_session_unuse(session);
}

static enum zr_status start_downgrade(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task)
{
    const struct zr_meaning *meaning = zr_meaning_of(((struct zr_hold *)self)->seat.stem);
    if (meaning->downgrade != NULL)
        return meaning->downgrade(self, args, task);
    args->misuse = "only a hold of a read/write lock can be downgraded";
    return ZR_BAD_ARGUMENTS;
}

static const struct zr_method methods[] = {
    {.name = "release", .args = "", .call = zr_hold_release},
    ZR_HOLD_METHODS,
    {.name = "downgrade", .args = "", .start = start_downgrade},
    {.name = NULL},
};

const struct zr_property zr_hold_properties[] = {
    {"token", get_token}, {"path", get_path}, {"since", get_since}, {NULL, NULL}};

static const struct zr_property properties[] = {{"token", get_token},     {"path", get_path},
                                                {"since", get_since},     {"shared", get_shared},
                                                {"permits", get_permits}, {NULL, NULL}};

const struct zr_class zr_hold_class = {"hold", methods, properties, zr_hold_forget, zr_hold_free};
