#include "core/verb_parts.h"

/*
 * Takes the only place there is:
 * 1. If another seat of this session has the node, or tries to create it: done, without a request.
 *    The seat stays empty.
 * 2. Create the node.
 * 3. Created: done. It exists already: done as well; another contender has it.
 *
 * What can go wrong: the parent is missing: make it and start again. The answer is lost: send a
 * sync, then read which session owns the node (vacate.c). If it is ours: done. If there is no node,
 * or it is another contender's: start again.
 */

static void go_on(struct zr_task *task);

/* Another seat of this session has the node, or tries to create it. */
static void leave_it(struct zr_task *task)
{
    task->seat->refused = ZR_NODE_EXISTS;
    task->resume = zr_part_done;
    zr_task_wake(task, ZR_OK);
}

static void begin(struct zr_task *task)
{
    if (!zr_part_connected(task, begin))
        return;
    task->resume = go_on;
    enum zr_status status = ZR_OK;
    if (zr_seat_find(task->session, task->seat->dir) != NULL)
        leave_it(task);
    else
        status = zr_seat_create(task->seat, task);
    if (status != ZR_OK)
        zr_part_fail(task, status);
}

/* Another contender has the node. */
static void taken(struct zr_task *task)
{
    zr_task_verb_done(task, ZR_OK);
}

static void go_on(struct zr_task *task)
{
    if (task->seat->state == ZR_SEAT_UNSURE)
        zr_part_find(task, go_on);
    else if (task->seat->state == ZR_SEAT_TAKEN)
        zr_task_verb_done(task, ZR_OK);
    else
        zr_part_refused(task, begin, taken);
}

void zr_verb_occupy(struct zr_task *task, struct zr_seat *seat, struct zr_next next)
{
    task->next = next;
    task->seat = seat;
    begin(task);
}
