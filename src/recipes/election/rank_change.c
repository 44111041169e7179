#include "core/alloc.h"
#include "recipes/election/rank.h"

/*
 * election:update_rank, for the candidates of the handle that wait:
 * 1. From now on new candidates get the new data.
 * 2. Write them into the seat of each candidate that has others, one after the other.
 *
 * A candidate whose create is in flight sees it by itself (stood in rank.c). A candidate that leads
 * has other data (tell.c).
 *
 * What can go wrong: the answer is lost: write again. The call ends before the answer: only the
 * seat's data show the candidate's rank, until a later call has written it (candidate->sent). The
 * rank is changed again meanwhile: the later call does the rest. A candidate leaves: its seat is
 * left out.
 */

struct change {
    struct zr_task task;
    struct zr_election *election;   /* counted */
    struct zr_rank_say *say;        /* counted: the new data */
    struct zr_candidate *candidate; /* counted: whose seat is written; or null */
    int losses;                     /* answers lost, in all */
};

static void write_next(struct zr_task *task);

static struct change *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct change, task);
}

static void forget_candidate(struct change *change)
{
    if (change->candidate != NULL)
        zr_object_unref(&change->candidate->hold.object);
    change->candidate = NULL;
}

/* The seat has the new data, or is gone. If another write to it has begun since, or the candidate
   has another seat by now, this answer says nothing. */
static void adopt(struct change *change)
{
    struct zr_candidate *candidate = change->candidate;
    if (candidate->sent != change->say)
        return;
    candidate->hold.seat.data = (struct zr_bytes){change->say->text, change->say->length};
    zr_rank_say_put(&candidate->say, change->say);
    zr_rank_say_put(&candidate->sent, NULL);
}

static void written(struct zr_task *task)
{
    struct change *change = of(task);
    bool lost = task->outcome == ZR_CONNECTION_LOSS;
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        adopt(change);
    forget_candidate(change);
    if (lost && zr_lost_too_large(++change->losses, change->say->length))
        zr_verb_fail(task, ZR_TOO_LARGE);
    else if (lost || task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        write_next(task);
    else
        zr_verb_fail(task, task->outcome);
}

static struct zr_candidate *find_outdated(const struct change *change)
{
    ZR_LIST_EACH (link, &change->election->contest.attempts) {
        struct zr_candidate *candidate = zr_candidate_standing(link);
        if (candidate != NULL && (candidate->say != change->say || candidate->sent != NULL))
            return candidate;
    }
    return NULL;
}

static void write_next(struct zr_task *task)
{
    struct change *change = of(task);
    bool newest = change->election->say == change->say;
    struct zr_candidate *candidate = newest ? find_outdated(change) : NULL;
    if (candidate == NULL) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    zr_object_ref(&candidate->hold.object);
    change->candidate = candidate;
    zr_rank_say_put(&candidate->sent, change->say);
    const struct zr_request what = {.op = ZR_OP_SET,
                                    .path = candidate->hold.seat.path,
                                    .data = {change->say->text, change->say->length},
                                    .version = ZR_ANY_VERSION};
    zr_verb_ask(task, &what, false, ZR_STEP(written));
}

static void free_change(struct zr_task *task)
{
    struct change *change = of(task);
    struct zr_object *election = &change->election->contest.object;
    forget_candidate(change);
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
                  zr_session_limit_us(session, &args->at[1]), ZR_STEP(write_next));
    return ZR_OK;
}
