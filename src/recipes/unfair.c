#include "recipes/unfair.h"

#include "core/alloc.h"
#include "core/verbs.h"
#include "recipes/contenders.h"

/*
 * Without a queue: the path itself is an ephemeral node, and the contender that creates it holds
 * it. Cheap for many contenders if the order does not matter.
 *
 * 1. Create the node. If that succeeds, it is ours.
 * 2. If another contender has it, wait until it is gone (one watch for all attempts of a session),
 *    and go to 1.
 *
 * If a create comes too late, at least two contend. So the next ones wait for a random time before
 * they create: at first up to HERD_LEAST_US, and twice as long after each create that comes too
 * late. After a grant it is half as long. One that waits alone never waits for nothing.
 *
 * Of several attempts in one session, only one at a time asks the server; the others wait for its
 * seat, and know at once when it goes. So that they do not keep out other sessions forever, they
 * pause after so many turns (TURNS), for longer than the news of the end takes.
 *
 * A try looks first, and writes nothing if there is a holder.
 *
 * What can go wrong: the answer to the create is lost (occupy reads whose node it is), or the
 * answer to the delete (vacate reads before it deletes again, because all contenders use this
 * name). The node is not ephemeral, for instance the directory of a fair lock: ZR_CONFLICT, because
 * it would never go.
 */

#define HERD_LEAST_US 500
#define HERD_MOST_US 10000
#define TURNS 32

static struct zr_contest *contest_of(struct zr_task *task)
{
    return (struct zr_contest *)zr_hold_of(task)->owner;
}

static void contest(struct zr_task *task);

static void hesitate(struct zr_task *task)
{
    struct zr_engine *engine = task->session->engine;
    int64_t herd_us = contest_of(task)->herd_us;
    if (contest_of(task)->turns >= TURNS)
        zr_verb_pause(task, HERD_MOST_US + (int64_t)zr_engine_random(engine, HERD_MOST_US),
                      ZR_STEP(contest));
    else if (herd_us > 0)
        zr_verb_pause(task, (int64_t)zr_engine_random(engine, (uint64_t)herd_us), ZR_STEP(contest));
    else
        contest(task);
}

static bool is_of_this_session(struct zr_task *task)
{
    return zr_seat_find(task->session, zr_hold_of(task)->seat.dir) != NULL;
}

static void await_free(struct zr_task *task)
{
    zr_hold_of(task)->waited = true;
    zr_verb_await_free(task, zr_hold_of(task)->seat.dir, ZR_STEP(hesitate));
}

static void take(struct zr_task *task)
{
    struct zr_contest *unfair = contest_of(task);
    struct zr_hold *hold = zr_hold_of(task);
    unfair->turns = hold->waited && unfair->turns < TURNS ? unfair->turns + 1 : 0;
    unfair->herd_us = unfair->herd_us > HERD_LEAST_US ? unfair->herd_us / 2 : 0;
    zr_hold_grant(hold);
}

/* Another session has the node. */
static void came_too_late(struct zr_task *task)
{
    struct zr_contest *unfair = contest_of(task);
    int64_t twice_us = unfair->herd_us * 2;
    unfair->turns = 0;
    if (zr_hold_of(task)->waited)
        unfair->herd_us = twice_us < HERD_LEAST_US  ? HERD_LEAST_US
                          : twice_us > HERD_MOST_US ? HERD_MOST_US
                                                    : twice_us;
}

static void occupied(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    if (hold->seat.state == ZR_SEAT_TAKEN) {
        take(task);
    } else if (hold->only_try) {
        zr_contest_held_by_another(task);
    } else {
        if (!is_of_this_session(task))
            came_too_late(task);
        await_free(task);
    }
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
