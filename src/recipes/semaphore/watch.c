#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/strangers.h"
#include "core/verbs.h"
#include "recipes/semaphore/semaphore.h"

/*
 * What an attempt watches while it waits.
 *
 * - The first waiter and the second one watch all seats ahead, and the limit. They know what goes,
 *   so they know without a listing when there is room, and when the second is the first.
 * - Any other waiter watches the seat just ahead. When that one is the first, or is granted, it
 *   marks its node (tell.c): the mark names the seats ahead of it. Then ours is the second, and
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
