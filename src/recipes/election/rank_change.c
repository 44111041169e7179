#include "core/alloc.h"
#include "recipes/election/rank.h"

/*
 * election:update_rank, for the candidates of the handle that wait:
 * 1. From now on new seats get the new rank.
 * 2. Each candidate whose seat has another one leaves it, and takes a new seat. It does that by
 *    itself, at its next step (rank.c); those that wait for an event are roused.
 * 3. Wait until all stand with the new rank, or stand no more.
 *
 * A seat's name has its rank, so a candidate cannot keep its seat. While it has none it does not
 * count for the quorum. A candidate that leads has other data (tell.c), and its name does not
 * matter any more.
 *
 * What can go wrong: the call ends early: the candidates go on without it. The rank is changed
 * again meanwhile: the later call does the rest.
 */

struct change {
    struct zr_task task;
    struct zr_election *election; /* counted */
    struct zr_rank_say *say;      /* counted: the new data */
};

static struct change *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct change, task);
}

/* A try that has not taken a seat yet will take one with the newest rank. */
static bool is_outdated(struct zr_task *attempt)
{
    return attempt->phase == ZR_RUNNING && zr_candidate_of(attempt)->say != NULL &&
           zr_candidate_outdated(attempt);
}

static bool any_outdated(const struct zr_election *election)
{
    bool any = false;
    ZR_LIST_EACH (link, &election->contest.attempts) {
        struct zr_task *attempt = ZR_HOLDER(link, struct zr_task, in_owner);
        if (!is_outdated(attempt))
            continue;
        any = true;
        zr_rank_rouse(zr_candidate_of(attempt));
    }
    return any;
}

static void settle(struct zr_task *task)
{
    struct zr_election *election = of(task)->election;
    if (election->say != of(task)->say || !any_outdated(election)) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    zr_verb_await(task, &election->stood, ZR_STEP(settle));
    task->asking = true;
}

static void free_change(struct zr_task *task)
{
    struct change *change = of(task);
    struct zr_object *election = &change->election->contest.object;
    zr_rank_say_unref(change->say);
    zr_free(change);
    zr_object_unref(election);
}

static const struct zr_task_kind kind = {
    .name = "election:update_rank", .writes = true, .results = zr_emit_true, .free = free_change};

/* gives: the election's value with this rank; null when memory is exhausted. */
static struct zr_rank_say *new_say(const struct zr_election *election, int64_t rank)
{
    struct zr_value value = zr_value_read(election->contest.data, true);
    size_t length;
    value.rank = rank;
    char *data = zr_value_write(&value, &length);
    struct zr_rank_say *say =
        data != NULL ? zr_rank_say_new((struct zr_bytes){data, length}) : NULL;
    zr_free(data);
    return say;
}

enum zr_status zr_rank_change(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_election *election = (struct zr_election *)self;
    struct zr_session *session = election->contest.session;
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    struct change *change = zr_alloc(sizeof(*change));
    struct zr_rank_say *say = change != NULL ? new_say(election, args->at[0].integer) : NULL;
    if (say == NULL) {
        zr_free(change);
        return ZR_NO_MEMORY;
    }
    change->election = (struct zr_election *)zr_object_ref(self);
    change->say = say;
    zr_rank_say_put(&election->say, say);
    *task = &change->task;
    zr_task_start(*task, &kind, session, election->contest.path,
                  zr_session_limit_us(session, &args->at[1]), ZR_STEP(settle));
    return ZR_OK;
}
