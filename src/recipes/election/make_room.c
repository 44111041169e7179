#include "recipes/election/make_room.h"

#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/election/says.h"

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
 * The successor's number never makes a candidate the leader: the queue decides as always, each
 * candidate deletes only its own seat, and the leader resigns as always. So there is one leader and
 * tokens grow, whatever happens to the number.
 *
 * What can go wrong: the program has learned of the successor from another server, which is ahead
 * of ours: sync and list once more. The answer to the write is lost: write again; twice does no
 * harm. The successor leaves, or a candidate in between does not step aside in time (Curator's
 * participants cannot), or the caller gives up: the call fails, the leader removes the number in
 * the background, and the term continues. Candidates that have stepped aside stay at the end of the
 * queue.
 */

#define PAUSE_US 100000

struct room {
    struct zr_task task;
    struct zr_term *term; /* counted */
    bool named;           /* the term says the number */
    bool synced;
    char *between;  /* the candidate that is nearest to the successor */
    int64_t number; /* of the successor */
    int losses;     /* answers to writes lost */
    char heir[];
};

static void look(struct zr_task *task);

static struct room *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct room, task);
}

static const char *dir_of(struct zr_task *task)
{
    return of(task)->term->hold.seat.dir;
}

static const char term_over[] = "the term is over";

static void over(struct zr_task *task)
{
    task->detail = term_over;
    zr_verb_fail(task, ZR_LOST);
}

/* The term ends at once, so a caller that is gone meanwhile leaves no number behind. */
static void next_in_line(struct zr_task *task)
{
    struct zr_term *term = of(task)->term;
    if (!zr_term_valid(term)) {
        over(task);
        return;
    }
    zr_term_resign(term);
    zr_task_finish(task, ZR_OK);
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

/* ---- Naming -------------------------------------------------------------------------------- */

static void name(struct zr_task *task);

static void named(struct zr_task *task)
{
    struct room *room = of(task);
    enum zr_status status = zr_says_written(task, room->term, &room->losses);
    if (status == ZR_OK)
        await_between(task);
    else if (status == ZR_CONNECTION_LOSS && zr_term_valid(room->term))
        name(task);
    else
        zr_verb_fail(task, status);
}

static void name(struct zr_task *task)
{
    zr_says_write(task, of(task)->term, ZR_STEP(named));
}

static void begin_naming(struct zr_task *task)
{
    struct room *room = of(task);
    room->named = true;
    zr_says_name(room->term, room->number);
    name(task);
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
        begin_naming(task);
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
    int64_t leader = seats != NULL ? zr_seat_index(&room->term->hold.seat, seats) : -1;
    int64_t heir = index_of(seats, room->heir);
    if (room->term->hold.state != ZR_HELD)
        over(task);
    else if (leader < 0 || heir < 0)
        missing(task, leader >= 0);
    else if (heir > leader + 1)
        found(task, &seats->at[heir - 1], seats->at[heir].sequence);
    else
        next_in_line(task);
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
    if (room->term->hold.state == ZR_HELD)
        list(task);
    else
        over(task);
}

/* ---- Taking it back ------------------------------------------------------------------------ */

static void write_back(struct zr_task *task);

static void write_back_later(struct zr_task *task)
{
    zr_verb_pause(task, PAUSE_US, ZR_STEP(write_back));
}

static void written_back(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (status == ZR_CONNECTION_LOSS && !zr_says_too_large(task, &of(task)->losses)) {
        write_back(task);
    } else if (status == ZR_NO_MEMORY || status == ZR_SERVER_ERROR) {
        write_back_later(task);
    } else {
        zr_says_gone(task, of(task)->term);
        zr_task_finish(task, ZR_OK);
    }
}

static void write_back(struct zr_task *task)
{
    struct zr_term *term = of(task)->term;
    if (term->hold.state != ZR_HELD)
        zr_task_finish(task, ZR_OK);
    else if (zr_says_try_write(task, term, ZR_STEP(written_back)) != ZR_OK)
        write_back_later(task);
}

/* What the caller is told. */
static void explain(struct zr_task *task)
{
    if (task->status == ZR_TIMEOUT)
        task->detail = "the time limit passed before the candidates in between had stepped aside";
    if (task->status != ZR_CONNECTION_LOSS || zr_term_valid(of(task)->term))
        return;
    task->status = ZR_LOST;
    task->doubtful = false;
    task->detail = term_over;
}

/* Another call may have named another successor meanwhile. */
static void take_back(struct zr_task *task)
{
    struct room *room = of(task);
    bool ours = room->named && room->term->successor == room->number;
    explain(task);
    room->named = false;
    if (!ours) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    zr_says_name(room->term, -1);
    write_back(task);
}

/* ---- The method ---------------------------------------------------------------------------- */

static void free_room(struct zr_task *task)
{
    struct room *room = of(task);
    struct zr_object *term = &room->term->hold.object;
    zr_free(room->between);
    zr_free(room);
    zr_object_unref(term);
}

static const struct zr_task_kind kind = {.name = "term:resign",
                                         .clean = take_back,
                                         .bound = true,
                                         .results = zr_emit_true,
                                         .free = free_room};

enum zr_status zr_make_room(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    const struct zr_hold *hold = (struct zr_hold *)self;
    const char *heir = args->at[0].bytes.at;
    enum zr_status status = zr_session_usable(hold->session);
    if (status != ZR_OK)
        return status;
    struct room *room = zr_alloc(sizeof(*room) + strlen(heir) + 1);
    if (room == NULL)
        return ZR_NO_MEMORY;
    strcpy(room->heir, heir);
    room->term = (struct zr_term *)self;
    zr_object_ref(self);
    *task = &room->task;
    zr_task_start(*task, &kind, hold->session,
                  zr_path_inside(hold->session->namespace, hold->seat.path),
                  args->at[1].given ? args->at[1].integer : -1, ZR_STEP(look));
    return ZR_OK;
}
