#include "core/alloc.h"
#include "core/names.h"
#include "recipes/barrier/leave.h"

/*
 * A member that leaves looks:
 * 1. In another session than that in which it is a member, it syncs.
 * 2. It lists the directory.
 * 3. It reads its round. If it does not know it yet, it reads each round in the listing, until one
 *    has the member's tag.
 *
 * What can go wrong: the session is lost meanwhile: it looks again, in the next one. Another call
 * of this object has ended the same: so does this one.
 */

static void find_round(struct zr_task *task);

/* What was read counts only if all was read in one session. */
static bool is_stale(struct zr_task *task)
{
    return task->session->id == 0 || task->session->id != zr_leave_of(task)->id;
}

static void read_done(struct zr_task *task, bool found)
{
    if (is_stale(task))
        zr_leave_look(task);
    else
        zr_leave_seen(task, found);
}

static void keep_content(struct zr_task *task)
{
    zr_call_free(zr_leave_of(task)->content);
    zr_leave_of(task)->content = task->call;
    task->call = NULL;
}

static void round_read(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        keep_content(task);
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        read_done(task, task->outcome == ZR_OK);
    else
        zr_verb_fail(task, task->outcome);
}

/* Another call of this object may know it already. */
static void know_round(struct zr_visit *visit)
{
    if (visit->member->round != NULL)
        return;
    visit->member->round = visit->path;
    visit->path = NULL;
}

static void other_read(struct zr_task *task)
{
    struct zr_visit *visit = zr_visit_of(task);
    bool found =
        task->outcome == ZR_OK && zr_round_has(task->call->request.data_reply, visit->member->tag);
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
    } else if (found) {
        know_round(visit);
        round_read(task);
    } else {
        visit->at++;
        find_round(task);
    }
}

/* Reads the next round in the listing, to see whether it is the member's. */
static void find_round(struct zr_task *task)
{
    struct zr_visit *visit = zr_visit_of(task);
    const struct zr_names *names = visit->listing->request.names;
    while (visit->at < names->count && !zr_is_round(names->at[visit->at]))
        visit->at++;
    if (visit->at == names->count) {
        read_done(task, false);
        return;
    }
    zr_free(visit->path);
    visit->path = zr_path_child(zr_znode_of(task)->full, names->at[visit->at]);
    if (visit->path != NULL)
        zr_verb_read(task, ZR_OP_GET, visit->path, false, ZR_STEP(other_read));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void listed(struct zr_task *task)
{
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    zr_visit_keep_listing(task);
    zr_visit_of(task)->at = 0;
    if (zr_visit_of(task)->member->round != NULL)
        zr_verb_read(task, ZR_OP_GET, zr_visit_of(task)->member->round, false, ZR_STEP(round_read));
    else
        find_round(task);
}

static void list(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_CHILDREN, zr_znode_of(task)->full, false, ZR_STEP(listed));
}

void zr_leave_look(struct zr_task *task)
{
    struct zr_leave *leave = zr_leave_of(task);
    leave->awaiting = false;
    leave->id = task->session->id;
    if (zr_visit_of(task)->member->over)
        zr_task_finish(task, ZR_OK);
    else if (leave->id == 0)
        zr_verb_await(task, &task->session->changed, ZR_STEP(zr_leave_look));
    else if (leave->id == zr_visit_of(task)->member->id)
        list(task);
    else
        zr_verb_read(task, ZR_OP_SYNC, zr_znode_of(task)->full, false, ZR_STEP(list));
}
