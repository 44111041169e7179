#include "recipes/election/rank.h"

#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/strangers.h"
#include "recipes/contest.h"

/*
 * Elections by rank, after Spinnaker (Rao, Shekita, Tata: "Using Paxos to Build a Scalable,
 * Consistent, and Highly Available Datastore", 2011, section 6): once there are `quorum`
 * candidates, the one with the highest rank leads; of equal ranks, the one that came first.
 *
 * 1. Create our znode, the seat, in the directory. Its data are our rank and our value.
 * 2. Read the directory. Its data name the seat that leads. It leads as long as its znode exists.
 *    Wait until that znode is gone.
 * 3. If it is gone, or no seat is named: list the directory, and read all candidates
 *    (rank_poll.c). If another one is to lead, or there are too few, wait until something in the
 *    directory changes, or for a while (ranks may change), and go to 2. Of the candidates of one
 *    handle that have the same rank, only the first does this; the others wait for it. Nor does one
 *    read that knows a better one, for a while.
 * 4. If we are the best, write our name into the directory, on two conditions: it has not changed
 *    since we read it (version), and our seat exists. This write decides the election, and its zxid
 *    is the token.
 *
 * Safety comes from the write in step 4: a seat's name is unique and its znode never comes back,
 * and of two writes over the same version one fails. The ranks only decide which candidate tries.
 *
 * A leader that resigns to a successor writes the successor's name behind its own (rank_resign.c).
 *
 * What can go wrong: the answer to the write is lost: the directory tells who leads (transact.c).
 * The best candidate's session is alive, but its process does not act: the others wait for it until
 * its session ends. Our seat is deleted from outside: go to 1. After 2^32 writes the directory's
 * version is -1, which a server does not compare, so both of two writes would succeed: no
 * candidate writes then.
 */

#define LOOK_AGAIN_US 1000000
#define LOOK_SOON_US 250000

static void look(struct zr_task *task);
static void poll(struct zr_task *task);

/* ---- The seat ------------------------------------------------------------------------------ */

static void stood(struct zr_task *task);

/* The next seat has the newest rank. */
void zr_rank_contend(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    struct zr_rank_say *say = zr_candidate_election(task)->say;
    zr_rank_say_put(&candidate->say, say);
    zr_rank_say_put(&candidate->sent, NULL);
    candidate->hold.seat.data = (struct zr_bytes){say->text, say->length};
    zr_verb_contend(task, &candidate->hold.seat, ZR_STEP(stood));
}

/* The rank may have changed while the create was in flight. */
static void stood(struct zr_task *task)
{
    if (zr_candidate_of(task)->say == zr_candidate_election(task)->say)
        look(task);
    else
        zr_verb_vacate(task, &zr_hold_of(task)->seat, ZR_STEP(zr_rank_contend));
}

/* It was deleted from outside. */
static void stand_again(struct zr_task *task)
{
    zr_seat_gone(&zr_hold_of(task)->seat);
    zr_rank_contend(task);
}

/* ---- Leading, or not ----------------------------------------------------------------------- */

static void lead(struct zr_task *task, int64_t token)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    zr_rank_stop_looking(candidate);
    candidate->hold.seat.czxid = token;
    zr_hold_grant(&candidate->hold);
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

/* What is known of ranks counts for so long. */
static void defer(struct zr_candidate *candidate)
{
    candidate->due_us = zr_engine_now_us(candidate->hold.session->engine) + LOOK_AGAIN_US;
}

static void wait(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    int64_t left_us = candidate->due_us - zr_engine_now_us(task->session->engine);
    if (candidate->hold.only_try) {
        task->detail = "there are too few candidates, or another one is to lead";
        zr_verb_fail(task, ZR_TIMEOUT);
        return;
    }
    int64_t most_us = left_us > 0 ? left_us : LOOK_AGAIN_US;
    if (candidate->doubts && most_us > LOOK_SOON_US)
        most_us = LOOK_SOON_US;
    candidate->waits = true;
    zr_verb_await_change_for(task, candidate->watch, candidate->events, most_us, ZR_STEP(look));
}

/* ---- 4. The write that decides ------------------------------------------------------------- */

static void decided(struct zr_task *task)
{
    const struct zr_request *answer = &task->call->request;
    if (task->outcome == ZR_OK)
        lead(task, (answer->op == ZR_OP_MULTI ? &answer->parts[1] : answer)->stat.mzxid);
    else if (task->outcome == ZR_BAD_VERSION || task->outcome == ZR_NO_NODE)
        look(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void decide(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    const struct zr_seat *seat = &candidate->hold.seat;
    const char *name = zr_candidate_name(candidate);
    const struct zr_request part = {.op = ZR_OP_SET,
                                    .path = zr_candidate_election(task)->contest.path,
                                    .data = {name, strlen(name)},
                                    .version = candidate->version};
    struct zr_call *call;
    enum zr_status status = zr_call_new_multi(task->session, seat->path, &part, 1, &call);
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    call->bound = true;
    call->generation = seat->generation;
    zr_verb_transact(task, call, &candidate->transaction, ZR_STEP(decided));
}

/* ---- 3. The candidates --------------------------------------------------------------------- */

static void judge(struct zr_task *task)
{
    if (zr_rank_is_best(task))
        decide(task);
    else
        wait(task);
}

/* A better one is known. */
static bool may_rely(struct zr_task *task, const struct zr_seats *seats)
{
    const struct zr_candidate *candidate = zr_candidate_of(task);
    return !candidate->hold.only_try &&
           zr_engine_now_us(task->session->engine) < candidate->due_us &&
           zr_rank_knows_better(task, seats);
}

/* Events that came while the listing was out are mostly of watches that were left before it. But
   one may be younger than the listing: then it is worth another look soon. */
static void note_events(struct zr_candidate *candidate)
{
    int64_t events = zr_watch_events(candidate->watch);
    candidate->doubts = events != candidate->events;
    candidate->events = events;
}

static void listed(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    struct zr_request *answer = &task->call->request;
    note_events(candidate);
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    if (task->outcome == ZR_NO_NODE || answer->stat.mzxid != candidate->mzxid) {
        look(task);
        return;
    }
    struct zr_seats *seats = zr_seats_new(task->session->engine->recipes, answer->names);
    if (seats == NULL) {
        zr_verb_fail(task, ZR_NO_MEMORY);
        return;
    }
    answer->names = NULL;
    zr_strangers_leave_out(task->session, candidate->hold.seat.dir, seats);
    if (zr_seat_index(&candidate->hold.seat, seats) < 0) {
        zr_seats_unref(seats);
        stand_again(task);
    } else if (may_rely(task, seats)) {
        zr_seats_unref(seats);
        wait(task);
    } else {
        defer(candidate);
        zr_rank_poll(task, seats, ZR_STEP(judge));
    }
}

static bool has_rank_of(const struct zr_candidate *candidate, const struct zr_candidate *other)
{
    return candidate->say == other->say && candidate->sent == NULL && other->sent == NULL;
}

/* True if a candidate of this handle waits that came before ours and certainly has the same rank.
   While update_rank writes them, or if it was stopped, they may have different ones. */
static bool waits_behind(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    ZR_LIST_EACH (link, &zr_candidate_election(task)->contest.attempts) {
        const struct zr_candidate *other = zr_candidate_standing(link);
        if (other != NULL && other->hold.seat.sequence < candidate->hold.seat.sequence &&
            has_rank_of(candidate, other))
            return strcmp(zr_candidate_name(candidate), candidate->named.heir) != 0;
    }
    return false;
}

static void poll(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    candidate->events = zr_watch_events(candidate->watch);
    candidate->doubts = false;
    if (candidate->version == ZR_ANY_VERSION) {
        task->detail = ZR_RANK_WRAPPED;
        zr_verb_fail(task, ZR_BAD_VERSION);
    } else if (waits_behind(task)) {
        wait(task);
    } else {
        zr_verb_read(task, ZR_OP_CHILDREN, candidate->hold.seat.dir, true, ZR_STEP(listed));
    }
}

/* ---- 2. The leader ------------------------------------------------------------------------- */

static void leader_gone(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    strcpy(candidate->ended, candidate->named.leader);
    defer(candidate);
    if (zr_watch_on_node(candidate->watch))
        poll(task);
    else
        look(task); /* it has named a successor, or another one leads already */
}

static void tried_leader(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        zr_rank_leader_stands(task);
    else if (task->outcome == ZR_NO_NODE)
        leader_gone(task);
    else
        zr_verb_fail(task, task->outcome);
}

void zr_rank_read_leader(struct zr_task *task, struct zr_next next)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    char *path = zr_path_child(candidate->hold.seat.dir, candidate->named.leader);
    if (path != NULL)
        zr_verb_read(task, ZR_OP_GET, path, false, next);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
    zr_free(path);
}

/* A leader of this session is awaited by a watch, too: its znode may be deleted from outside. */
static void await_end(struct zr_task *task)
{
    const struct zr_candidate *candidate = zr_candidate_of(task);
    const char *dir = candidate->hold.seat.dir, *leader = candidate->named.leader;
    char *path = zr_path_child(dir, leader);
    if (path == NULL)
        zr_verb_fail(task, ZR_NO_MEMORY);
    else if (zr_seat_find(task->session, path) != NULL)
        zr_verb_await_deleted(task, path, 0, ZR_STEP(leader_gone));
    else
        zr_verb_await_gone(task, dir, leader, NULL, ZR_STEP(leader_gone));
    zr_free(path);
}

static void heed_leader(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    candidate->hold.position = -1; /* known only when the leader is gone */
    if (candidate->hold.only_try)
        zr_rank_read_leader(task, ZR_STEP(tried_leader));
    else
        await_end(task);
}

void zr_rank_note(struct zr_candidate *candidate, const struct zr_request *answer)
{
    candidate->named = zr_named_read(answer);
    candidate->mzxid = answer->stat.mzxid;
    candidate->version = answer->stat.version;
}

static void looked(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    if (task->outcome == ZR_NO_NODE) {
        stand_again(task);
        return;
    }
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    zr_rank_note(candidate, &task->call->request);
    const char *leader = candidate->named.leader;
    if (strcmp(leader, zr_candidate_name(candidate)) == 0)
        lead(task, candidate->named.token);
    else if (leader[0] == '\0' || strcmp(leader, candidate->ended) == 0)
        poll(task);
    else
        heed_leader(task);
}

static void look(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    const char *dir = candidate->hold.seat.dir;
    enum zr_status status = ZR_OK;
    if (candidate->watch == NULL)
        status = zr_watch_follow(task->session, dir, 2, ZR_WATCHED_BYTES_COMMON, &candidate->watch);
    if (status == ZR_OK)
        zr_verb_read(task, ZR_OP_GET, dir, true, ZR_STEP(looked));
    else
        zr_verb_fail(task, status);
}
