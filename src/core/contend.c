#include "core/alloc.h"
#include "core/names.h"
#include "core/verb_parts.h"
#include "core/watch.h"

/*
 * Takes a seat and lists its directory, in one round trip:
 * 1. Wait until there is a session: its id is part of the name.
 * 2. Send the create and, behind it, the listing. The server keeps that order, so the listing shows
 *    our own node.
 * 3. Both are answered: done.
 *
 * What can go wrong:
 * - The directory is missing: make it, go to 1.
 * - The answer to the create is lost. After the reconnect, a sync and a listing tell whether the
 *   node is there: its name has our tag, and our session owns it. If it is not there, go to 1.
 * - The node is not in the listing: it was deleted from outside. Go to 1.
 * - The directory's counter is used up (see names.h), so numbers no longer give the order. Give the
 *   seat up, wait until all contenders with a number below the limit have left, and delete the
 *   directory (the server refuses while it has children); go to 1. The data that the recipe keeps
 *   in the directory are written again as they were read. If they have changed since, the recipe
 *   has to read them again; also if it could not read them, or if their version is -1, which the
 *   server does not compare.
 */

#define DRAIN_PAUSE_US 100000

static void begin(struct zr_task *task);
static void go_on(struct zr_task *task);
static void drain(struct zr_task *task);

/* ---- The directory is used up -------------------------------------------------------------- */

static void read_again(struct zr_task *task)
{
    zr_task_verb_done(task, ZR_OK);
}

static void dir_deleted(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        begin(task);
    else if (task->outcome == ZR_BAD_VERSION)
        read_again(task);
    else if (task->outcome == ZR_NOT_EMPTY || task->outcome == ZR_CONNECTION_LOSS)
        zr_part_pause(task, DRAIN_PAUSE_US, drain);
    else
        zr_task_verb_done(task, task->outcome);
}

static enum zr_status delete_dir(struct zr_task *task)
{
    const struct zr_dir_data *data = task->seat->dir_data;
    if (data != NULL && data->version == ZR_ANY_VERSION) {
        zr_part_pause(task, DRAIN_PAUSE_US, read_again);
        return ZR_OK;
    }
    struct zr_call *call;
    enum zr_status status =
        zr_call_new_full(task->session, ZR_OP_DELETE, task->seat->dir, ZR_NO_DATA, &call);
    if (status != ZR_OK)
        return status;
    if (data != NULL)
        call->request.version = data->version;
    zr_part_send(task, call, dir_deleted);
    return ZR_OK;
}

static enum zr_status await_last(struct zr_task *task)
{
    char *path = zr_path_child(task->seat->dir, task->seats->at[task->seats->count - 1].name);
    enum zr_status status = path != NULL ? zr_part_await_gone(task, path, NULL) : ZR_NO_MEMORY;
    zr_free(path);
    if (status == ZR_OK)
        zr_part_begin(task, drain);
    return status;
}

static void drain_listed(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (status == ZR_NO_NODE) {
        begin(task);
        return;
    }
    if (status == ZR_OK)
        status = task->seats->count > 0 ? await_last(task) : delete_dir(task);
    if (status != ZR_OK)
        zr_part_fail(task, status);
}

static void drain(struct zr_task *task)
{
    zr_part_list(task, task->seat->dir, drain_listed);
}

/* ---- Contending ---------------------------------------------------------------------------- */

static void begin(struct zr_task *task)
{
    struct zr_seat *seat = task->seat;
    if (!zr_part_connected(task, begin))
        return;
    task->resume = go_on;
    enum zr_status status = zr_seat_create(seat, task);
    if (status == ZR_OK)
        status = zr_listing_ask(task, seat->dir);
    if (status != ZR_OK)
        zr_part_fail(task, status);
}

static void taken(struct zr_task *task)
{
    struct zr_seat *seat = task->seat;
    if (seat->sequence < 0 || seat->sequence >= ZR_SEQUENCE_LIMIT)
        zr_part_vacate(task, drain);
    else if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        zr_task_verb_done(task, task->outcome);
    else if (task->outcome == ZR_NO_NODE || zr_seat_index(seat, task->seats) < 0) {
        zr_seat_gone(seat);
        begin(task);
    } else
        zr_task_verb_done(task, ZR_OK);
}

/* This listing is older than the answer that says that the node is ours: request another one. */
static void found(struct zr_task *task)
{
    if (task->seat->state != ZR_SEAT_TAKEN)
        go_on(task);
    else
        zr_part_list(task, task->seat->dir, go_on);
}

static void go_on(struct zr_task *task)
{
    switch (task->seat->state) {
    case ZR_SEAT_NONE:
        zr_part_refused(task, begin, drain);
        break;
    case ZR_SEAT_UNSURE:
        zr_part_find(task, found);
        break;
    case ZR_SEAT_TAKEN:
        taken(task);
        break;
    case ZR_SEAT_CONTENDING: /* the listing failed before it was sent */
        zr_task_verb_done(task, task->outcome);
        break;
    }
}

void zr_verb_contend(struct zr_task *task, struct zr_seat *seat, struct zr_next next)
{
    task->next = next;
    task->seat = seat;
    begin(task);
}
