#include "recipes/barrier/member.h"

#include <string.h>

#include "core/alloc.h"
#include "core/names.h"

/*
 * What a member of a double barrier deletes:
 * 1. If it has left: its mark; then its round, which ZooKeeper does not delete while another member
 *    has a mark there; then each other round in its listing, if no member is left to delete it.
 * 2. If the program has dropped it: its m- znode, so that the others do not wait for it, and its
 *    mark. Then it lists, and deletes each round that no member is left to delete.
 *
 * What can go wrong: the m- znode goes first, because without it no late request that leaves can
 * make the mark. The task is ended while it does this: it begins again, in the background. A round
 * cannot be read: the next member that leaves a round deletes it.
 */

static void sweep(struct zr_task *task);

static void next(struct zr_task *task)
{
    zr_visit_of(task)->at++;
    sweep(task);
}

static bool is_over(struct zr_task *task, const struct zr_request *answer)
{
    struct zr_visit *visit = zr_visit_of(task);
    struct zr_names *names = visit->listing->request.names;
    struct zr_roll roll = zr_roll_of(names, answer->data_reply, &answer->stat, visit->member->tag);
    return roll.members > 0 && answer->stat.child_count == 0 && roll.inside == 0;
}

static void round_read(struct zr_task *task)
{
    if (task->outcome == ZR_OK && is_over(task, &task->call->request))
        zr_visit_delete(task, zr_visit_of(task)->path, ZR_STEP(next));
    else
        next(task);
}

static const char *round_at(struct zr_task *task, const char *name)
{
    struct zr_visit *visit = zr_visit_of(task);
    zr_free(visit->path);
    visit->path = zr_path_child(zr_znode_of(task)->full, name);
    return visit->path;
}

static bool look_at(struct zr_task *task, const char *name)
{
    const struct zr_member *member = zr_visit_of(task)->member;
    const char *path = zr_is_round(name) ? round_at(task, name) : NULL;
    bool own =
        path != NULL && member->over && member->round != NULL && strcmp(path, member->round) == 0;
    return path != NULL && !own &&
           zr_verb_try_read(task, ZR_OP_GET, path, false, ZR_STEP(round_read)) == ZR_OK;
}

static void sweep(struct zr_task *task)
{
    struct zr_visit *visit = zr_visit_of(task);
    const struct zr_names *names = visit->listing != NULL ? visit->listing->request.names : NULL;
    for (; names != NULL && visit->at < names->count; visit->at++)
        if (look_at(task, names->at[visit->at]))
            return;
    zr_task_finish(task, ZR_OK);
}

/* ---- After it has left --------------------------------------------------------------------- */

static void mark_deleted(struct zr_task *task)
{
    const struct zr_member *member = zr_visit_of(task)->member;
    zr_visit_of(task)->at = 0;
    if (member->round != NULL)
        zr_visit_delete(task, member->round, ZR_STEP(sweep));
    else
        sweep(task);
}

void zr_farewell(struct zr_task *task)
{
    const struct zr_member *member = zr_visit_of(task)->member;
    if (zr_session_usable(task->session) != ZR_OK)
        zr_task_finish(task, ZR_OK);
    else if (member->mark != NULL)
        zr_visit_delete(task, member->mark, ZR_STEP(mark_deleted));
    else
        mark_deleted(task);
}

/* ---- If it was dropped --------------------------------------------------------------------- */

static void list(struct zr_task *task);

static void listed(struct zr_task *task)
{
    if (zr_visit_passes(task->outcome)) {
        zr_visit_pause(task, ZR_STEP(list));
        return;
    }
    zr_visit_of(task)->at = 0;
    if (task->outcome == ZR_OK)
        zr_visit_keep_listing(task);
    sweep(task);
}

static void list(struct zr_task *task)
{
    const char *dir = zr_znode_of(task)->full;
    if (zr_verb_try_read(task, ZR_OP_CHILDREN, dir, false, ZR_STEP(listed)) != ZR_OK)
        zr_visit_pause(task, ZR_STEP(list));
}

static void left(struct zr_task *task)
{
    const struct zr_member *member = zr_visit_of(task)->member;
    if (member->mark != NULL)
        zr_visit_delete(task, member->mark, ZR_STEP(list));
    else
        list(task);
}

static void leave_early(struct zr_task *task)
{
    if (zr_session_usable(task->session) == ZR_OK)
        zr_visit_delete(task, zr_visit_of(task)->member->takes_part, ZR_STEP(left));
    else
        zr_task_finish(task, ZR_OK);
}

static void free_farewell(struct zr_task *task)
{
    struct zr_rounds *rounds = zr_rounds_of(task);
    struct zr_visit *visit = zr_visit_of(task);
    zr_visit_fini(visit);
    zr_member_unref(visit->member);
    zr_object_unref(&rounds->znode.object);
}

static const struct zr_task_kind kind = {
    .name = "double_barrier", .clean = leave_early, .free = free_farewell};

void zr_farewell_start(struct zr_rounds *rounds, struct zr_member *member)
{
    struct zr_visit *visit = &member->farewell;
    visit->member = zr_member_ref(member);
    visit->znode_task.znode = &rounds->znode;
    zr_object_ref(&rounds->znode.object);
    zr_task_start_cleaning(&visit->znode_task.task, &kind, rounds->znode.session);
}
