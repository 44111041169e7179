#include "recipes/hold.h"

#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/announce.h"
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
 * caller that waits for the loss (hold_lost.c). A guarded write finds it out in any case, because
 * it includes a check of the node. The user forgets the hold: it is released when the garbage
 * collector runs.
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

struct zr_hold *zr_hold_new(size_t size, struct zr_session *session, struct zr_object *owner,
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
    if (zr_hold_of(task)->state == ZR_ACQUIRING)
        zr_announce_end(&zr_hold_of(task)->announced);
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

static void leave(struct zr_task *task)
{
    const struct zr_hold *hold = zr_hold_of(task);
    bool departs = hold->more != NULL && hold->more->depart != NULL;
    (departs ? hold->more->depart : zr_hold_clean)(task);
}

static const struct zr_task_kind release_kind = {
    .name = "hold:release",
    .clean = leave,
    .bound = true,
    .free = zr_hold_free_task,
};

/* In the background. */
static void delete_node(struct zr_hold *hold)
{
    zr_object_ref(&hold->object);
    zr_task_start_cleaning(&hold->task, &release_kind, hold->session);
}

static void release(struct zr_hold *hold)
{
    if (hold->state != ZR_HELD || zr_engine_forked(hold->session->engine))
        return;
    let_go(hold, ZR_OK);
    delete_node(hold);
}

/* If the waiter has not taken the results yet, its task is in use until it finds that they are
   worth nothing (discard). */
void zr_hold_deposed(struct zr_hold *hold)
{
    if (hold->state != ZR_HELD)
        return;
    let_go(hold, ZR_LOST);
    if (!hold->task.waited)
        delete_node(hold);
}

/* A hold is not given to a caller that runs too late for it. */
enum zr_status zr_hold_still(const struct zr_task *task)
{
    const struct zr_hold *hold = ZR_HOLDER(task, const struct zr_hold, task);
    enum zr_status status = zr_session_standing(hold->session, hold->seat.generation);
    return status == ZR_OK && hold->state != ZR_HELD ? ZR_LOST : status;
}

/* Granted, but the waiter had given up, or came too late: what its task held is released at
   once. */
void zr_hold_discard(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    bool deposed = hold->why == ZR_LOST && hold->seat.state != ZR_SEAT_NONE;
    zr_object_ref(&hold->object);
    zr_task_release(task);
    if (deposed)
        delete_node(hold);
    else
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

static void get_number(struct zr_object *self, struct zr_sink *sink)
{
    const struct zr_hold *hold = (const struct zr_hold *)self;
    if (hold->numbered)
        sink->integer(sink, NULL, strtol(strrchr(hold->seat.dir, '/') + 1, NULL, 10));
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
    if (hold->more != NULL)
        hold->more->fini(hold);
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

static const struct zr_property properties[] = {
    {"token", get_token},     {"path", get_path},     {"since", get_since}, {"shared", get_shared},
    {"permits", get_permits}, {"number", get_number}, {NULL, NULL}};

const struct zr_class zr_hold_class = {"hold", methods, properties, zr_hold_forget, zr_hold_free};
