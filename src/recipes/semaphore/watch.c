#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/strangers.h"
#include "core/verbs.h"
#include "recipes/semaphore/semaphore.h"

/*
 * What an attempt watches while it waits, and how it tells the waiter behind that it is the first.
 *
 * - The first waiter and the second one watch all seats ahead, and the limit. They know what goes,
 *   so they know without a listing when there is room, and when the second is the first.
 * - Any other waiter watches the seat just ahead. When that one is the first, or is granted, it
 *   marks its node (mark.h): the mark names the seats ahead of it. Then ours is the second, and
 *   watches them all.
 * - A seat of this session is waited for without a request, and its mark is never written for us.
 */

static struct zr_permit_attempt *of(struct zr_task *task)
{
    return (struct zr_permit_attempt *)zr_hold_of(task);
}

/* ---- All seats ahead ----------------------------------------------------------------------- */

void zr_permit_look_away(struct zr_permit_attempt *attempt)
{
    zr_watch_set_clear(&attempt->watches);
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
    struct zr_permit_attempt *attempt = of(task);
    const struct zr_watch_set *set = &attempt->watches;
    const struct zr_semaphore *semaphore = attempt->read.semaphore;
    enum zr_watch_data data = zr_watch_set_data(set, semaphore->mzxid);
    if (set->failed == ZR_CONFLICT)
        blame(task);
    if (set->failed != ZR_OK)
        zr_verb_fail(task, set->failed);
    else if (data == ZR_DATA_UNKNOWN)
        zr_permit_keep_watching(task);
    else if (data == ZR_DATA_SAME && zr_limit_known(semaphore))
        attempt->weigh.step(task);
    else
        attempt->look.step(task);
}

void zr_permit_keep_watching(struct zr_task *task)
{
    struct zr_permit_attempt *attempt = of(task);
    zr_watch_set_begin(&attempt->watches, attempt->hold.seat.dir);
    zr_verb_await(task, &attempt->watches.moved, ZR_STEP(moved));
}

static enum zr_status begin(struct zr_permit_attempt *attempt)
{
    zr_watch_set_remove_seats(&attempt->watches);
    return zr_watch_set_add_data(&attempt->watches, attempt->hold.seat.dir,
                                 attempt->read.semaphore->mzxid);
}

void zr_permit_watch_all(struct zr_task *task, int64_t index)
{
    struct zr_permit_attempt *attempt = of(task);
    enum zr_status status = begin(attempt);
    for (int64_t i = 0; i < index && status == ZR_OK; i++) {
        const struct zr_seat_name *seat = &task->seats->at[i];
        if (zr_permits(seat) > 0)
            status = zr_watch_set_add_seat(&attempt->watches, seat->name, zr_permits(seat));
    }
    if (status == ZR_OK)
        zr_permit_keep_watching(task);
    else
        zr_verb_fail(task, status);
}

/* ---- The seat just ahead ------------------------------------------------------------------- */

/* False: that is not the name of a seat. */
static bool add_named(struct zr_permit_attempt *attempt, const char *name, enum zr_status *status)
{
    struct zr_seat_name seat;
    const struct zr_recipe *const *recipes = attempt->hold.session->engine->recipes;
    if (!zr_stem_read(recipes, name, &seat) || zr_permits(&seat) == 0)
        return false;
    if (*status == ZR_OK)
        *status = zr_watch_set_add_seat(&attempt->watches, name, zr_permits(&seat));
    return true;
}

/* The one ahead is the first waiter, or was granted. The seats ahead of it are among those that its
   mark names. If there is room behind all these, none of them need be watched. */
static void weigh_marked(struct zr_task *task, struct zr_bytes data, int64_t czxid)
{
    struct zr_permit_attempt *attempt = of(task);
    struct zr_bytes names = zr_mark_names(data, czxid);
    char name[ZR_MARK_NAME];
    bool readable = names.at != NULL;
    enum zr_status status = ZR_OK;
    while (readable && zr_mark_next(&names, name))
        readable = add_named(attempt, name, &status);
    if (!readable || !add_named(attempt, attempt->ahead, &status))
        attempt->look.step(task);
    else if (status == ZR_OK)
        moved(task);
    else
        zr_verb_fail(task, status);
}

static void mark_read(struct zr_task *task)
{
    const struct zr_request *answer = &task->call->request;
    if (task->outcome == ZR_OK)
        weigh_marked(task, answer->data_reply, answer->stat.czxid);
    else if (task->outcome == ZR_NO_NODE)
        of(task)->look.step(task);
    else
        zr_verb_fail(task, task->outcome);
}

/* The limit is read in the same flight. */
static void read_mark(struct zr_task *task, const char *path)
{
    enum zr_status status = begin(of(task));
    struct zr_seat *ours = zr_seat_find(task->session, path);
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
    } else if (ours == NULL) {
        zr_verb_read(task, ZR_OP_GET, path, false, ZR_STEP(mark_read));
    } else {
        const struct zr_hold *hold = ZR_HOLDER(ours, const struct zr_hold, seat);
        const struct zr_mark *mark = &((const struct zr_permit_attempt *)hold)->mark;
        weigh_marked(task, (struct zr_bytes){mark->at, mark->length}, ours->czxid);
    }
}

/* The one ahead is gone, or has said something. */
static void heard(struct zr_task *task)
{
    struct zr_permit_attempt *attempt = of(task);
    if (!task->told) {
        attempt->look.step(task);
        return;
    }
    attempt->heard = ZR_SAID_OWN(task->word);
    char *path = zr_path_child(attempt->hold.seat.dir, attempt->ahead);
    if (path != NULL)
        read_mark(task, path);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
    zr_free(path);
}

/* What the same seat says twice is heard once: the data may be a person's, and no mark. */
static bool says_more(const struct zr_task *task, int64_t word)
{
    const struct zr_hold *hold = ZR_HOLDER(task, const struct zr_hold, task);
    return ZR_SAID_OWN(word) > ((const struct zr_permit_attempt *)hold)->heard;
}

static enum zr_status note_ahead(struct zr_permit_attempt *attempt, const char *name)
{
    if (attempt->ahead != NULL && strcmp(attempt->ahead, name) == 0)
        return ZR_OK;
    zr_free(attempt->ahead);
    attempt->ahead = zr_copy_string(name);
    attempt->heard = 0;
    return attempt->ahead != NULL ? ZR_OK : ZR_NO_MEMORY;
}

void zr_permit_follow(struct zr_task *task, int64_t ahead)
{
    struct zr_permit_attempt *attempt = of(task);
    enum zr_status status = note_ahead(attempt, task->seats->at[ahead].name);
    zr_permit_look_away(attempt);
    if (status == ZR_OK)
        zr_verb_await_gone(task, attempt->hold.seat.dir, attempt->ahead, says_more, ZR_STEP(heard));
    else
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
    attempt->marking = NULL;
    zr_call_free(call);
}

/* True if no waiter can have seen others wait ahead of us, between our create and our look. */
static bool seen_as_first(const struct zr_permit_attempt *attempt, const struct zr_seats *seats)
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

/* A waiter of this session that came while we were unsure whether we have a seat waits by a
   watch, as one of another session does. */
static bool hears_here(const struct zr_seat *seat, const char *name)
{
    return same_session(seat, name) && !zr_watch_awaited(seat->session, seat->path);
}

static bool needs_mark(const struct zr_permit_attempt *attempt, const struct zr_seats *seats,
                       int64_t index)
{
    int64_t behind = zr_permits_behind(seats, index);
    return behind >= 0 && !seen_as_first(attempt, seats) &&
           !hears_here(&attempt->hold.seat, seats->at[behind].name);
}

/* True if the waiter right behind is of this session, and waits for this seat. */
static bool followed_here(const struct zr_permit_attempt *attempt)
{
    ZR_LIST_EACH (link, &attempt->hold.seat.gone.tasks)
        if (ZR_HOLDER(link, const struct zr_task, in_signal)->kind == attempt->hold.task.kind)
            return true;
    return false;
}

bool zr_permit_knows_behind(const struct zr_permit_attempt *attempt)
{
    const struct zr_watch_set *set = &attempt->watches;
    return set->children > set->added + 1 || followed_here(attempt);
}

static void make_mark(struct zr_permit_attempt *attempt, const struct zr_seats *seats,
                      int64_t index)
{
    const struct zr_seat *seat = &attempt->hold.seat;
    struct zr_mark *mark = &attempt->mark;
    const struct zr_link *at = NULL;
    const char *name;
    zr_mark_begin(mark, seat->czxid, seat->data);
    for (int64_t i = 0; seats != NULL && i < index; i++)
        if (zr_permits(&seats->at[i]) > 0)
            zr_mark_add(mark, seats->at[i].name);
    while (seats == NULL && (name = zr_watch_set_next(&attempt->watches, &at)) != NULL)
        zr_mark_add(mark, name);
    zr_mark_end(mark, seat->data);
}

/* Without names, any write tells the waiter behind to list. */
static enum zr_status write_mark(struct zr_permit_attempt *attempt)
{
    struct zr_seat *seat = &attempt->hold.seat;
    struct zr_bytes data = seat->data;
    if (attempt->mark.at != NULL)
        data = (struct zr_bytes){attempt->mark.at, attempt->mark.length};
    enum zr_status status =
        zr_call_new_full(seat->session, ZR_OP_SET, seat->path, data, &attempt->marking);
    if (status == ZR_OK)
        zr_call_start(attempt->marking, marked, attempt);
    return status;
}

enum zr_status zr_permit_tell(struct zr_permit_attempt *attempt, const struct zr_seats *seats,
                              int64_t index)
{
    if (attempt->told)
        return ZR_OK;
    bool here = followed_here(attempt);
    bool write = !here && (seats == NULL || needs_mark(attempt, seats, index));
    if (here || write)
        make_mark(attempt, seats, index);
    enum zr_status status = write ? write_mark(attempt) : ZR_OK;
    attempt->told = status == ZR_OK;
    if (attempt->told)
        zr_seat_say(&attempt->hold.seat, ZR_SAYS_MARKED(1));
    return status;
}

void zr_permit_forget_mark(struct zr_permit_attempt *attempt)
{
    zr_call_free(attempt->marking);
    attempt->marking = NULL;
    zr_free(attempt->mark.at);
    attempt->mark.at = NULL;
    attempt->told = false;
}
