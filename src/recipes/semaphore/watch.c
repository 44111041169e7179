#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/strangers.h"
#include "core/verbs.h"
#include "recipes/semaphore/semaphore.h"

/*
 * What an attempt watches while it waits, and how it tells the waiters behind that it is granted.
 *
 * - The first waiter watches every holder and the limit.
 * - Any other waiter watches the seat just ahead: its node goes, or it changes (the mark). One
 *   request reads it and leaves the watch, so that a mark which is there already is seen.
 * - A seat of this session is waited for without a request.
 */

static struct zr_permit_attempt *of(struct zr_task *task)
{
    return (struct zr_permit_attempt *)zr_hold_of(task);
}

/* The word of a seat that was granted, for waiters of its session. */
#define SAYS_HOLDS ZR_SAYS_OWN(1)

static bool says_it_holds(const struct zr_task *task, int64_t word)
{
    (void)task;
    return word == SAYS_HOLDS;
}

/* ---- Watching ------------------------------------------------------------------------------ */

static void stop_following(struct zr_permit_attempt *attempt)
{
    zr_watch_unfollow(attempt->watch);
    attempt->watch = NULL;
    attempt->marked = 0;
}

void zr_permit_look_away(struct zr_permit_attempt *attempt)
{
    zr_watch_set_clear(&attempt->watches);
    stop_following(attempt);
}

static void blame(struct zr_task *task)
{
    const struct zr_permit_attempt *attempt = of(task);
    char *path = zr_path_child(attempt->hold.seat.dir, attempt->watches.in_the_way);
    if (path != NULL)
        zr_stranger_blamed(task, path);
    zr_free(path);
}

static void moved(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (status == ZR_CONFLICT)
        blame(task);
    zr_watch_set_remove_gone(&of(task)->watches);
    if (status == ZR_OK)
        of(task)->look.step(task);
    else
        zr_verb_fail(task, status);
}

void zr_permit_watch_holders(struct zr_task *task, int64_t index, struct zr_next look)
{
    struct zr_permit_attempt *attempt = of(task);
    attempt->look = look;
    const char *dir = attempt->hold.seat.dir;
    stop_following(attempt);
    enum zr_status status =
        zr_watch_set_add_changed(&attempt->watches, dir, attempt->read.semaphore->mzxid);
    for (int64_t i = 0; i < index && status == ZR_OK; i++)
        if (zr_permits(&task->seats->at[i]) > 0)
            status = zr_watch_set_add_gone(&attempt->watches, dir, task->seats->at[i].name);
    if (status == ZR_OK)
        zr_verb_await(task, &attempt->watches.moved, ZR_STEP(moved));
    else
        zr_verb_fail(task, status);
}

/* What is ahead is not ephemeral. If it could be a stranger, it has just come: look at it again. */
static void stays(struct zr_task *task)
{
    const char *path = task->call->request.path;
    if (zr_is_usual(task->session->engine->recipes, strrchr(path, '/') + 1)) {
        zr_stranger_blamed(task, path);
        zr_verb_fail(task, ZR_CONFLICT);
    } else {
        of(task)->look.step(task);
    }
}

static void read_ahead(struct zr_task *task)
{
    struct zr_permit_attempt *attempt = of(task);
    const struct zr_stat *stat = &task->call->request.stat;
    if (task->outcome == ZR_NO_NODE) {
        attempt->look.step(task);
    } else if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
    } else if (stat->ephemeral_owner == 0) {
        stays(task);
    } else if (stat->version > attempt->marked) {
        attempt->marked = stat->version;
        attempt->look.step(task);
    } else {
        zr_verb_await_change(task, attempt->watch, attempt->events, attempt->look);
    }
}

/* Follows the node of the seat just ahead, and reads it. */
static enum zr_status follow(struct zr_task *task, int64_t ahead, const char *path)
{
    struct zr_permit_attempt *attempt = of(task);
    enum zr_status status = ZR_OK;
    if (attempt->watch == NULL || attempt->ahead != ahead) {
        zr_permit_look_away(attempt);
        status = zr_watch_follow(task->session, path, 1, ZR_WATCHED_BYTES_COMMON, &attempt->watch);
        attempt->ahead = ahead;
    }
    if (status != ZR_OK)
        return status;
    attempt->events = zr_watch_events(attempt->watch);
    zr_verb_read(task, ZR_OP_GET, path, true, ZR_STEP(read_ahead));
    return ZR_OK;
}

void zr_permit_watch_ahead(struct zr_task *task, int64_t ahead, struct zr_next look)
{
    struct zr_permit_attempt *attempt = of(task);
    attempt->look = look;
    const struct zr_seat_name *seat = &task->seats->at[ahead];
    char *path = zr_path_child(attempt->hold.seat.dir, seat->name);
    struct zr_seat *ours = path != NULL ? zr_seat_find(task->session, path) : NULL;
    enum zr_status status = ZR_OK;
    if (path == NULL)
        status = ZR_NO_MEMORY;
    else if (ours == NULL)
        status = follow(task, seat->sequence, path);
    else if (ours->word ==
             SAYS_HOLDS) /* even if the limit says otherwise: a person may have changed it */
        zr_permit_watch_holders(task, ahead + 1, look);
    else
        zr_verb_await_gone(task, attempt->hold.seat.dir, seat->name, says_it_holds, look);
    zr_free(path);
    if (status != ZR_OK)
        zr_verb_fail(task, status);
}

/* ---- The mark ------------------------------------------------------------------------------ */

static void marked(struct zr_call *call)
{
    struct zr_permit_attempt *attempt = call->owner;
    struct zr_seat *seat = &attempt->hold.seat;
    enum zr_status status = call->request.status;
    if (status == ZR_CONNECTION_LOSS && !zr_seat_over(seat)) {
        zr_call_again(call);
        return;
    }
    if (status != ZR_OK && status != ZR_NO_NODE && status != ZR_CONNECTION_LOSS)
        zr_engine_note(
            seat->session, 'W',
            "cannot write to %s to wake the next waiter of the semaphore, which may wait "
            "longer than it has to: %s",
            zr_path_inside(seat->session->namespace, seat->path), zr_status_text(status));
    attempt->mark = NULL;
    zr_call_free(call);
}

/* True if no waiter can have seen us wait, between our create and our look. */
static bool seen_to_hold(const struct zr_permit_attempt *attempt, const struct zr_seats *seats)
{
    const struct zr_limit_read *before = &attempt->read;
    const struct zr_stat *after = &seats->stat;
    if (!attempt->first_sight || before->mzxid != after->mzxid ||
        before->pzxid >= attempt->hold.seat.czxid)
        return false;
    /* cversion counts nodes that came and nodes that left; child_count is the difference. */
    return (uint32_t)after->cversion - (uint32_t)before->cversion ==
           (uint32_t)after->child_count - (uint32_t)before->child_count;
}

static bool same_session(const struct zr_seat *seat, const char *name)
{
    char id[sizeof("0123456789abcdef-")];
    snprintf(id, sizeof(id), "%016" PRIx64 "-", (uint64_t)seat->session->id);
    return strncmp(name, id, strlen(id)) == 0;
}

/* Wakes the waiter behind us in this session. If it came while we were unsure whether we have a
   seat, it waits by a watch. */
static void tell_session(struct zr_seat *seat)
{
    zr_seat_say(seat, SAYS_HOLDS);
    zr_watch_event(seat->session, seat->path, ZR_CHANGED);
}

/* Marks our own node for the waiter behind, if there is one that may not know that we hold. */
static enum zr_status tell_behind(struct zr_permit_attempt *attempt, const struct zr_seats *seats,
                                  int64_t index)
{
    struct zr_seat *seat = &attempt->hold.seat;
    int64_t behind = zr_permits_behind(seats, index);
    if (behind < 0 || seen_to_hold(attempt, seats) || same_session(seat, seats->at[behind].name))
        return ZR_OK;
    enum zr_status status =
        zr_call_new_full(seat->session, ZR_OP_SET, seat->path, seat->data, &attempt->mark);
    if (status == ZR_OK)
        zr_call_start(attempt->mark, marked, attempt);
    return status;
}

enum zr_status zr_permit_tell(struct zr_permit_attempt *attempt, const struct zr_seats *seats,
                              int64_t index)
{
    enum zr_status status = tell_behind(attempt, seats, index);
    if (status == ZR_OK)
        tell_session(&attempt->hold.seat);
    return status;
}
