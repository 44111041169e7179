#include "recipes/election/make_room.h"

#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/hold.h"

/*
 * Resigns to a named successor, in an election with a queue:
 * 1. List the directory. If the successor is not in it, fail. If no candidate is between the leader
 *    and the successor: done, and the leader resigns.
 * 2. If there is one, write the successor's number into the data of the leader's node, after the
 *    value. The candidate that watches the leader's node reads it. If it is ahead of the successor,
 *    it steps aside: it deletes its seat and creates a new one at the end of the queue (contest.c).
 *    Then the next candidate watches the leader's node and does the same.
 * 3. Wait until the candidate just ahead of the successor is gone, and go to 1.
 *
 * This task does 1 and 3. All that a term's node says is written by
 * lua/zkrecipes/recipes/election/election.lua, and so is the number (successor.lua).
 *
 * The successor's number never makes a candidate the leader: the queue decides as always, each
 * candidate deletes only its own seat, and the leader resigns as always. So there is one leader and
 * tokens grow, whatever happens to the number.
 *
 * What can go wrong: the program has learned of the successor from another server, which is ahead
 * of ours: sync and list once more. The successor leaves, or a candidate in between does not step
 * aside in time (Curator's participants cannot): the call fails, the leader removes the number, and
 * the term continues. Candidates that have stepped aside stay at the end of the queue.
 */

struct room {
    struct zr_task task;
    struct zr_hold *term; /* counted */
    bool named;           /* the node has the number: wait */
    bool synced;
    char *between;  /* the candidate that is nearest to the successor */
    int64_t number; /* of the successor */
    char heir[];
};

static void look(struct zr_task *task);

static struct room *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct room, task);
}

static const char *dir_of(struct zr_task *task)
{
    return of(task)->term->seat.dir;
}

static void over(struct zr_task *task)
{
    task->detail = "the term is over";
    zr_verb_fail(task, ZR_LOST);
}

/* ---- Waiting ------------------------------------------------------------------------------- */

static void await_between(struct zr_task *task)
{
    char *path = zr_path_child(dir_of(task), of(task)->between);
    if (path != NULL)
        zr_verb_await_deleted(task, path, 0, ZR_STEP(look));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
    zr_free(path);
}

static void found(struct zr_task *task, const struct zr_seat_name *between, int64_t number)
{
    struct room *room = of(task);
    zr_free(room->between);
    room->between = zr_copy_string(between->name);
    room->number = number;
    if (room->between == NULL)
        zr_verb_fail(task, ZR_NO_MEMORY);
    else if (task->tries)
        zr_verb_fail(task, ZR_TIMEOUT);
    else if (room->named)
        await_between(task);
    else
        zr_task_finish(task, ZR_OK);
}

/* ---- Looking ------------------------------------------------------------------------------- */

static void list(struct zr_task *task);

static void synced(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        list(task);
    else
        zr_verb_fail(task, task->outcome);
}

/* One of the two is not in the listing. */
static void missing(struct zr_task *task, bool leads)
{
    if (!of(task)->synced) {
        of(task)->synced = true;
        zr_verb_read(task, ZR_OP_SYNC, dir_of(task), false, ZR_STEP(synced));
    } else if (!leads) {
        over(task);
    } else {
        task->detail = "the successor is no longer a candidate";
        zr_verb_fail(task, ZR_NO_NODE);
    }
}

static int64_t index_of(const struct zr_seats *seats, const char *name)
{
    for (size_t i = 0; seats != NULL && i < seats->count; i++)
        if (strcmp(seats->at[i].name, name) == 0)
            return (int64_t)i;
    return -1;
}

static void listed(struct zr_task *task)
{
    struct room *room = of(task);
    const struct zr_seats *seats = task->seats;
    int64_t leader = seats != NULL ? zr_seat_index(&room->term->seat, seats) : -1;
    int64_t heir = index_of(seats, room->heir);
    if (room->term->state != ZR_HELD)
        over(task);
    else if (leader < 0 || heir < 0)
        missing(task, leader >= 0);
    else if (heir > leader + 1)
        found(task, &seats->at[heir - 1], seats->at[heir].sequence);
    else
        zr_task_finish(task, ZR_OK);
}

static void list(struct zr_task *task)
{
    zr_verb_list(task, dir_of(task), ZR_STEP(listed));
}

static void look(struct zr_task *task)
{
    struct room *room = of(task);
    zr_free(room->between);
    room->between = NULL;
    room->synced = false;
    if (room->term->state == ZR_HELD)
        list(task);
    else
        over(task);
}

/* ---- The method ---------------------------------------------------------------------------- */

static void results(struct zr_task *task, struct zr_sink *sink)
{
    const struct room *room = of(task);
    if (room->between == NULL) {
        sink->boolean(sink, NULL, true);
        return;
    }
    zr_emit_string(sink, NULL, room->between);
    sink->integer(sink, NULL, room->number);
}

static void free_room(struct zr_task *task)
{
    struct room *room = of(task);
    struct zr_object *term = &room->term->object;
    zr_free(room->between);
    zr_free(room);
    zr_object_unref(term);
}

static const struct zr_task_kind kind = {
    .name = "term:resign", .bound = true, .results = results, .free = free_room};

static struct room *new_room(struct zr_hold *term, const char *heir, const struct zr_arg *between)
{
    struct room *room = zr_alloc(sizeof(*room) + strlen(heir) + 1);
    if (room == NULL)
        return NULL;
    strcpy(room->heir, heir);
    room->term = term;
    zr_object_ref(&term->object);
    room->named = between->given;
    if (!between->given)
        return room;
    room->between = zr_copy_string(between->bytes.at);
    if (room->between != NULL)
        return room;
    free_room(&room->task);
    return NULL;
}

enum zr_status zr_make_room(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_hold *term = (struct zr_hold *)self;
    const struct zr_arg *between = &args->at[1], *limit = &args->at[2];
    enum zr_status status = zr_session_usable(term->session);
    if (status != ZR_OK)
        return status;
    struct room *room = new_room(term, args->at[0].bytes.at, between);
    if (room == NULL)
        return ZR_NO_MEMORY;
    *task = &room->task;
    zr_task_start(*task, &kind, term->session,
                  zr_path_inside(term->session->namespace, term->seat.path),
                  limit->given ? limit->integer : -1,
                  between->given ? ZR_STEP(await_between) : ZR_STEP(look));
    return ZR_OK;
}
