#include "core/announce.h"
#include "core/names.h"
#include "core/status.h"
#include "core/verb_parts.h"

/*
 * Empties a seat, whatever state it is in:
 * 1. The create is in flight: wait for its answer. (It was never sent: forget it.)
 * 2. The answer was lost: find out whether the node is there.
 * 3. The node is there: delete it, and repeat until the server has said that it is gone. If other
 *    contenders use the same name (a seat without a stem), check before each delete, also the
 *    first, that the node is still ours: a user may have replaced it. A delete cannot name the
 *    node's identity, so a replacement between the check and the delete is still possible.
 *
 * What can go wrong: the session is over: then the node is gone too, and nothing may be sent (a
 * late delete must never run in another session). Memory is exhausted: pause, try again. The server
 * refuses (usually the ACL of the directory): write that to the log and try again, less and less
 * often; tasks that wait for the seat keep waiting, because the node is there. A vacate that is not
 * part of a clean-up fails instead, and the clean-up begins after that.
 */

#define MEMORY_PAUSE_US 100000
#define REFUSED_PAUSE_US 100000
#define REFUSED_DOUBLED 7 /* times at most */

static void go_on(struct zr_task *task);

static void again(struct zr_task *task)
{
    zr_part_vacate(task, task->seat->after);
}

static void refused(struct zr_task *task, enum zr_status status)
{
    struct zr_seat *seat = task->seat;
    if (task->phase != ZR_CLEANING) {
        zr_task_verb_done(task, status);
        return;
    }
    if (seat->refusals == 0)
        zr_engine_note(task->session, 'W',
                       "cannot delete %s, which this session no longer needs: %s; it keeps trying",
                       zr_path_inside(task->session->namespace, seat->path),
                       zr_status_text(status));
    int64_t pause_us = (int64_t)REFUSED_PAUSE_US << seat->refusals;
    seat->refusals += seat->refusals < REFUSED_DOUBLED;
    zr_part_pause(task, pause_us, again);
}

/* ---- Finding an unsure node ---------------------------------------------------------------- */

/*
 * A name proves nothing: any client that may create nodes in the directory can make one with our
 * tag. So we read each node whose name could be ours, one after the other, to learn its owner.
 */

static void find(struct zr_task *task);
static void search(struct zr_task *task);

/* A read counts only if it comes after a sync on the same connection. */
static bool in_order(const struct zr_seat *seat)
{
    return seat->call->state == ZR_CALL_BACK && seat->call->request.status == ZR_OK;
}

static void not_there(struct zr_task *task)
{
    zr_seat_gone(task->seat);
    task->after(task);
}

static void there(struct zr_task *task)
{
    if (zr_seat_settle(task->seat, &task->call->request.stat) == ZR_OK)
        task->after(task);
    else
        zr_part_pause(task, MEMORY_PAUSE_US, find);
}

static void find_looked(struct zr_task *task)
{
    struct zr_seat *seat = task->seat;
    if (task->outcome == ZR_CONNECTION_LOSS || !in_order(seat))
        find(task);
    else if (task->outcome == ZR_OK && zr_seat_owns(seat, &task->call->request.stat))
        there(task);
    else if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        refused(task, task->outcome);
    else if (seat->stem != NULL)
        search(task); /* behind this one */
    else
        not_there(task);
}

static enum zr_status ask(struct zr_task *task, enum zr_op op, void (*resume)(struct zr_task *))
{
    struct zr_call *call;
    enum zr_status status =
        zr_call_new_full(task->session, op, task->seat->path, ZR_NO_DATA, &call);
    if (status == ZR_OK)
        zr_part_send(task, call, resume);
    return status;
}

static void find_listed(struct zr_task *task)
{
    struct zr_seat *seat = task->seat;
    enum zr_status status = task->outcome;
    if (!in_order(seat)) {
        find(task);
        return;
    }
    if (status == ZR_NO_NODE || (status == ZR_OK && !zr_seat_guess(seat, task->seats->names))) {
        not_there(task);
        return;
    }
    if (status == ZR_OK)
        status = ask(task, ZR_OP_EXISTS, find_looked);
    if (status == ZR_NO_MEMORY)
        zr_part_pause(task, MEMORY_PAUSE_US, find);
    else if (status != ZR_OK)
        refused(task, status);
}

static void synced(struct zr_call *call)
{
    (void)call; /* only in_order needs this answer; the reads behind it count */
}

static enum zr_status sync_first(struct zr_seat *seat)
{
    zr_call_free(seat->call);
    enum zr_status status =
        zr_call_new_full(seat->session, ZR_OP_SYNC, seat->dir, ZR_NO_DATA, &seat->call);
    if (status == ZR_OK)
        zr_call_start(seat->call, synced, seat);
    else
        seat->call = NULL;
    return status;
}

/* Continues with the node after the one that the seat's path names now. */
static void search(struct zr_task *task)
{
    struct zr_seat *seat = task->seat;
    zr_part_begin(task, find_listed);
    enum zr_status status = sync_first(seat);
    if (status == ZR_OK)
        status = seat->stem != NULL ? zr_listing_ask(task, seat->dir)
                                    : ask(task, ZR_OP_EXISTS, find_looked);
    if (status != ZR_OK)
        zr_part_pause(task, MEMORY_PAUSE_US, find);
}

static void find(struct zr_task *task)
{
    task->seat->path[task->seat->prefix] = '\0';
    search(task);
}

void zr_part_find(struct zr_task *task, void (*after)(struct zr_task *task))
{
    task->after = after;
    find(task);
}

/* ---- Removing ------------------------------------------------------------------------------ */

static void gone(struct zr_task *task)
{
    zr_seat_gone(task->seat);
    task->seat->leaving = false;
    task->seat->refusals = 0;
    void (*after)(struct zr_task *) = task->seat->after;
    after(task);
}

static void deleted(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        gone(task);
    else if (task->outcome != ZR_CONNECTION_LOSS)
        refused(task, task->outcome);
    else if (task->seat->stem != NULL)
        zr_call_again(task->call);
    else
        again(task);
}

static void delete_node(struct zr_task *task);

/* If it was refused, or its answer was lost: a plain delete does, and contenders list. */
static void announced(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        gone(task);
    else
        delete_node(task);
}

/* A contender of this session that waits for the seat needs no announcement. */
static bool announce(struct zr_task *task)
{
    struct zr_seat *seat = task->seat;
    struct zr_call *call;
    bool known = seat->one_follows && !zr_list_empty(&seat->gone.tasks);
    bool wanted = seat->announces && !known;
    seat->announces = false;
    if (!wanted || zr_announce_new(seat, &call) != ZR_OK)
        return false;
    zr_part_send(task, call, announced);
    return true;
}

static void delete_node(struct zr_task *task)
{
    if (!announce(task) && ask(task, ZR_OP_DELETE, deleted) != ZR_OK)
        zr_part_pause(task, MEMORY_PAUSE_US, again);
}

static void go_on(struct zr_task *task)
{
    struct zr_seat *seat = task->seat;
    bool unsent = seat->state == ZR_SEAT_CONTENDING && seat->call->state == ZR_CALL_QUEUED;
    if (seat->state == ZR_SEAT_NONE || unsent || zr_seat_over(seat)) {
        gone(task);
    } else if (seat->state == ZR_SEAT_CONTENDING) {
        seat->task = task;
        seat->leaving = true;
        zr_part_begin(task, go_on);
    } else if (seat->state == ZR_SEAT_UNSURE) {
        zr_part_find(task, go_on);
    } else {
        delete_node(task);
    }
}

void zr_part_vacate(struct zr_task *task, void (*after)(struct zr_task *task))
{
    struct zr_seat *seat = task->seat;
    seat->after = after;
    /* The node may be gone, and another contender's may be in its place. */
    if (seat->stem == NULL && seat->state == ZR_SEAT_TAKEN)
        seat->state = ZR_SEAT_UNSURE;
    go_on(task);
}

static void vacated(struct zr_task *task)
{
    /* Not inside the call of the verb: the seat may have been empty already. */
    zr_part_begin(task, zr_part_done);
    zr_task_wake(task, ZR_OK);
}

void zr_verb_vacate(struct zr_task *task, struct zr_seat *seat, struct zr_next next)
{
    task->next = next;
    task->seat = seat;
    zr_part_vacate(task, vacated);
}
