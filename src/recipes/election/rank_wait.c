#include "core/watch.h"
#include "recipes/election/rank.h"

/*
 * How a candidate by rank waits while no candidate leads: for any change of the directory, since it
 * has listed (wait); or for the decision of a better candidate that it knows (rely).
 *
 * What can go wrong: the better one's znode is not ephemeral: after a second without a change, look
 * at it, and fail. An event may be younger than the listing: look again soon. The better one has
 * ended with the leader: after a moment, list.
 */

#define LOOK_AGAIN_US 1000000
#define LOOK_SOON_US 250000
#define RELY_US 250000

static void relied(struct zr_task *task);

/* ---- After a listing ----------------------------------------------------------------------- */

static void better_was_read(struct zr_task *task)
{
    const struct zr_request *answer = &task->call->request;
    if (task->outcome == ZR_OK && answer->stat.ephemeral_owner == 0)
        zr_rank_leader_stands(task);
    else if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        zr_rank_look_again(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void woken(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    bool silent = zr_watch_events(candidate->watch) == candidate->events;
    if (zr_rank_stands_anew(task))
        return;
    if (silent && candidate->better[0] != '\0')
        zr_rank_read_seat(task, ZR_OP_EXISTS, candidate->better, ZR_STEP(better_was_read));
    else if (zr_watch_on_node(candidate->watch))
        zr_rank_list(task);
    else
        zr_rank_look_again(task);
}

void zr_rank_wait(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    if (candidate->hold.only_try) {
        task->detail = "there are too few candidates, or another one is to lead";
        zr_verb_fail(task, ZR_TIMEOUT);
        return;
    }
    zr_rank_park(task);
    zr_verb_await_change_for(task, candidate->watch, candidate->events,
                             candidate->doubts ? LOOK_SOON_US : LOOK_AGAIN_US, ZR_STEP(woken));
}

/* ---- Without one --------------------------------------------------------------------------- */

/* Nobody has written to the directory yet. */
static void rely(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    int64_t left_us = candidate->relies_until_us - zr_engine_now_us(task->session->engine);
    candidate->events = zr_watch_events(candidate->watch);
    zr_rank_park(task);
    zr_verb_await_change_for(task, candidate->watch, candidate->events, left_us, ZR_STEP(relied));
}

static void relied(struct zr_task *task)
{
    const struct zr_candidate *candidate = zr_candidate_of(task);
    bool more = zr_engine_now_us(task->session->engine) < candidate->relies_until_us;
    if (zr_rank_stands_anew(task))
        return;
    if (!zr_watch_on_node(candidate->watch))
        zr_rank_look_again(task);
    else if (more)
        rely(task);
    else
        zr_rank_list(task);
}

void zr_rank_rely(struct zr_task *task)
{
    int64_t now_us = zr_engine_now_us(task->session->engine);
    zr_candidate_of(task)->relies_until_us = now_us + RELY_US;
    rely(task);
}
