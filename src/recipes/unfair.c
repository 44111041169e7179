#include "recipes/unfair.h"

#include "core/alloc.h"
#include "core/verbs.h"
#include "recipes/contenders.h"

/*
 * Without a queue: the path itself is an ephemeral node, and whoever makes it holds it. Cheap for
 * many contenders where the order does not matter.
 *
 * 1. Make the node. Made: it is ours.
 * 2. Somebody has it: wait until it is gone (one watch for all attempts of a session), then for a
 *    moment that differs from one to another, so that not all come at once; and begin anew.
 *
 * Of several attempts in one session one at a time asks the server; the others wait for its seat.
 *
 * To try is to look first, and to write nothing while somebody has it.
 *
 * What can go wrong: the answer to the create is lost (occupy looks whose node is there), or that
 * to the delete (vacate looks before it deletes again: the name is everybody's). The node is not
 * ephemeral, the directory of a fair lock for instance: ZR_CONFLICT, it would never go.
 */

#define HERD_US 10000

static void contest(struct zr_task *task);

static void hesitate(struct zr_task *task)
{
    int64_t us = (int64_t)zr_engine_random(task->session->engine, HERD_US);
    zr_verb_pause(task, us, ZR_STEP(contest));
}

static void await_free(struct zr_task *task)
{
    zr_verb_await_free(task, zr_hold_of(task)->seat.dir, ZR_STEP(hesitate));
}

static void occupied(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    if (hold->seat.state == ZR_SEAT_TAKEN)
        zr_hold_grant(hold);
    else if (hold->only_try)
        zr_contest_held_by_another(task);
    else
        await_free(task);
}

static void contest(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    if (!hold->only_try && zr_watch_awaited(task->session, hold->seat.dir))
        await_free(task);
    else
        zr_verb_occupy(task, &hold->seat, ZR_STEP(occupied));
}

static void not_ephemeral(struct zr_task *task)
{
    task->detail = "the znode is not ephemeral; is it the directory of a fair lock?";
    zr_verb_fail(task, ZR_CONFLICT);
}

static void looked(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        contest(task);
    else if (task->outcome != ZR_OK)
        zr_verb_fail(task, task->outcome);
    else if (task->call->request.stat.ephemeral_owner == 0)
        not_ephemeral(task);
    else
        zr_contest_held_by_another(task);
}

static void look_first(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_EXISTS, zr_hold_of(task)->seat.dir, false, ZR_STEP(looked));
}

enum zr_status zr_unfair_start(struct zr_contest *unfair, const struct zr_role *role,
                               const struct zr_arg *timeout, struct zr_task **task)
{
    return zr_contest_begin(unfair, role, NULL, timeout, ZR_STEP(look_first), ZR_STEP(contest),
                            task);
}

enum zr_status zr_unfair_contenders(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    struct zr_contest *unfair = (struct zr_contest *)self;
    return zr_contenders_start_one(unfair->session, self, unfair->dir, unfair->path, &args->at[0],
                                   task);
}
