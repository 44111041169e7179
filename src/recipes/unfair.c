#include "recipes/unfair.h"

#include "core/alloc.h"
#include "core/verbs.h"
#include "recipes/contenders.h"

/*
 * Without a queue: the path itself is an ephemeral node, and the contender that creates it holds
 * it. Cheap for many contenders if the order does not matter.
 *
 * 1. Create the node. If that succeeds, it is ours.
 * 2. If another contender has it, wait until it is gone (one watch for all attempts of a session).
 *    Pause for a random time to avoid a stampede, then go to 1.
 *
 * Of several attempts in one session, only one at a time asks the server; the others wait for its
 * seat.
 *
 * A try looks first, and writes nothing if there is a holder.
 *
 * What can go wrong: the answer to the create is lost (occupy reads whose node it is), or the
 * answer to the delete (vacate reads before it deletes again, because all contenders use this
 * name). The node is not ephemeral, for instance the directory of a fair lock: ZR_CONFLICT, because
 * it would never go.
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
    task->detail =
        "the znode is not ephemeral: it may be the directory of a fair lock; use another path";
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

enum zr_status zr_unfair_contenders(struct zr_object *self, const char *method,
                                    struct zr_args *args, struct zr_task **task)
{
    struct zr_contest *unfair = (struct zr_contest *)self;
    return zr_contenders_start(unfair->session, self, method, unfair->dir, false, unfair->path,
                               &args->at[0], task);
}
