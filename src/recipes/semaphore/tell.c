#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/watch.h"
#include "recipes/semaphore/semaphore.h"

/*
 * How an attempt tells the waiter right behind it that it is the first waiter: it writes the names
 * of the seats ahead of it into its own node (mark.h). A waiter of its own session is told without
 * a request.
 *
 * What can go wrong: the answer is lost: the write is repeated, as long as the seat may be there.
 * The node may not be written: the waiter behind waits until it is gone.
 */

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
