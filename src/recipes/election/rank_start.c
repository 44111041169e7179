#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/strangers.h"
#include "recipes/contest.h"
#include "recipes/election/rank.h"

/*
 * A candidate by rank, from the call to its end. A try looks first, and stands only if no candidate
 * leads. All other candidates stand at once (rank.c).
 */

struct zr_candidate *zr_candidate_of(struct zr_task *task)
{
    return (struct zr_candidate *)zr_hold_of(task);
}

struct zr_election *zr_candidate_election(struct zr_task *task)
{
    return (struct zr_election *)zr_hold_of(task)->owner;
}

const char *zr_candidate_name(const struct zr_candidate *candidate)
{
    return strrchr(candidate->hold.seat.path, '/') + 1;
}

struct zr_candidate *zr_candidate_standing(struct zr_link *link)
{
    struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_owner);
    bool stands = task->phase == ZR_RUNNING && zr_hold_of(task)->seat.state == ZR_SEAT_TAKEN;
    return stands ? zr_candidate_of(task) : NULL;
}

bool zr_candidate_outdated(struct zr_task *task)
{
    return zr_candidate_of(task)->say != zr_candidate_election(task)->say;
}

/* ---- The end ------------------------------------------------------------------------------- */

void zr_rank_end_wait(struct zr_candidate *candidate)
{
    zr_timer_stop(&candidate->hold.session->engine->timers, &candidate->late);
    zr_rank_unguard(candidate);
    candidate->parked = false;
    zr_signal_fire(&zr_candidate_election(&candidate->hold.task)->stood, ZR_OK);
}

void zr_rank_stop_looking(struct zr_candidate *candidate)
{
    zr_rank_end_wait(candidate);
    zr_watch_part(&candidate->news);
    zr_seats_unref(candidate->known);
    candidate->known = NULL;
}

/* ---- A try --------------------------------------------------------------------------------- */

void zr_rank_read_seat(struct zr_task *task, enum zr_op op, const char *name, struct zr_next next)
{
    char *path = zr_path_child(zr_hold_of(task)->seat.dir, name);
    if (path != NULL)
        zr_verb_read(task, op, path, false, next);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
    zr_free(path);
}

void zr_rank_leader_stands(struct zr_task *task)
{
    const struct zr_request *answer = &task->call->request;
    bool leads = answer->stat.ephemeral_owner != 0;
    if (leads)
        task->detail = "another candidate leads";
    else
        zr_stranger_blamed(task, answer->path);
    zr_verb_fail(task, leads ? ZR_TIMEOUT : ZR_CONFLICT);
}

static void first_tried(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        zr_rank_leader_stands(task);
    else if (task->outcome == ZR_NO_NODE)
        zr_rank_contend(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void first_looked(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    bool named = false;
    if (task->outcome == ZR_OK) {
        zr_rank_note(candidate, &task->call->request);
        named = candidate->named.leader[0] != '\0';
    }
    if (named)
        zr_rank_read_seat(task, ZR_OP_GET, candidate->named.leader, ZR_STEP(first_tried));
    else if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        zr_rank_contend(task);
    else
        zr_verb_fail(task, task->outcome);
}

/* Writes nothing if a candidate leads. */
static void look_first(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_GET, zr_hold_of(task)->seat.dir, false, ZR_STEP(first_looked));
}

/* ---- The method ---------------------------------------------------------------------------- */

static void leave(struct zr_task *task)
{
    zr_rank_stop_looking(zr_candidate_of(task));
    zr_hold_clean(task);
}

static void fini(struct zr_hold *hold)
{
    struct zr_candidate *candidate = (struct zr_candidate *)hold;
    zr_rank_stop_looking(candidate);
    zr_transaction_fini(&candidate->transaction);
    zr_rank_say_unref(candidate->say);
    zr_term_fini(hold);
}

static const struct zr_hold_more more = {
    .fini = fini, .depart = zr_rank_depart, .version = zr_rank_version, .names = zr_rank_names};

/* A limit that passes while it looks again has passed as if it waited. */
static bool asking(const struct zr_task *task)
{
    const struct zr_hold *hold = ZR_HOLDER(task, const struct zr_hold, task);
    return task->asking && !((const struct zr_candidate *)hold)->waits;
}

static bool was_elected(struct zr_task *task, const struct zr_request *answer)
{
    struct zr_named named = zr_named_read(answer);
    return answer->status == ZR_OK &&
           strcmp(named.leader, zr_candidate_name(zr_candidate_of(task))) == 0;
}

static const struct zr_task_kind kind = {.name = "election:campaign",
                                         .clean = leave,
                                         .bound = true,
                                         .asking = asking,
                                         .results = zr_hold_results,
                                         .still = zr_hold_still,
                                         .discard = zr_hold_discard,
                                         .free = zr_hold_free_task};

enum zr_status zr_rank_campaign(struct zr_election *election, const struct zr_arg *timeout,
                                struct zr_task **task)
{
    struct zr_contest *contest = &election->contest;
    enum zr_status status = zr_session_usable(contest->session);
    if (status != ZR_OK)
        return status;
    struct zr_hold *hold = zr_hold_new(sizeof(struct zr_candidate), contest->session,
                                       &contest->object, contest->dir, &zr_rank_stem, ZR_NO_DATA);
    if (hold == NULL)
        return ZR_NO_MEMORY;
    zr_term_init(hold);
    hold->more = &more;
    ((struct zr_candidate *)hold)->news.told = zr_rank_told;
    hold->seat.note = ((struct zr_candidate *)hold)->note;
    ((struct zr_candidate *)hold)->transaction =
        (struct zr_transaction){.op = ZR_OP_GET, .path = contest->dir, .was_done = was_elected};
    hold->only_try = timeout->given && timeout->integer == 0;
    *task = &hold->task;
    zr_list_append(&contest->attempts, &hold->task.in_owner);
    zr_task_start(*task, &kind, contest->session, contest->path,
                  timeout->given ? timeout->integer : -1,
                  hold->only_try ? ZR_STEP(look_first) : ZR_STEP(zr_rank_contend));
    return ZR_OK;
}
