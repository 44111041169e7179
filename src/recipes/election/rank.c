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
 * 1. Create our znode, the seat, in the directory. Its name has our rank, and its data our rank and
 *    our value. The listing behind the create shows who is ahead: the ranks are in the names.
 * 2. Read the directory. Its data name the seat that leads. It leads as long as its znode exists.
 *    Wait in line (rank_wait.c): until the nearest candidate ahead is gone; or, if none is, until
 *    the leader is. Then read the directory again.
 * 3. If the leader is gone, or no seat is named: list the directory. The names tell which candidate
 *    is to lead (rank_best.c). If it is another one, or there are too few, wait until something in
 *    the directory changes, and go to 2. Of the candidates of one handle that have the same rank,
 *    only the first lists; the others wait for it.
 * 4. If we are the best, write our name into the directory, on two conditions: it has not changed
 *    since we read it (version), and our seat exists. This write decides the election, and its zxid
 *    is the token.
 *
 * A leader keeps a listing that is current (rank_attend.c). So when it resigns, it writes the next
 * one's name, in the transaction that deletes its own seat (rank_depart.c). The next one only reads
 * the directory.
 *
 * So a change of the leader wakes the first in line, which sends one request, or two if the leader
 * has died (and the one just behind the leader, if the leader is not the highest). Each of the
 * others reads the directory a moment later. The watches are at the seat ahead,
 * which ends, and at the directory, where they fire at the next change.
 *
 * Safety comes from the write in step 4: a seat's name is unique and its znode never comes back,
 * and of two writes over the same version one fails. The ranks only decide which candidate tries.
 * A client that is no candidate may write into the directory, too, and then another candidate may
 * lead though the leader's seat stands. So the leader reads what is written there, and its guarded
 * writes check the version (guarded.c): it leads only as long as it is named.
 *
 * A leader that resigns to a successor writes the successor's name behind its own (rank_resign.c).
 * A candidate whose rank changes leaves its seat and takes another one (rank_change.c).
 *
 * What can go wrong: the answer to the write is lost: the directory tells who leads (transact.c).
 * The best candidate's session is alive, but its process does not act: the others wait for it until
 * its session ends. Its znode is not ephemeral, so it would never end: the others look at it after
 * a second, and fail. Our seat is deleted from outside: go to 1. After 2^32 writes the directory's
 * version is -1, which a server does not compare, so both of two writes would succeed: no
 * candidate writes then.
 */

/* ---- Leading, or not ----------------------------------------------------------------------- */

static void lead(struct zr_task *task, int64_t token)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    zr_rank_end_wait(candidate);
    zr_rank_attend(candidate);
    candidate->hold.seat.czxid = token;
    zr_hold_grant(&candidate->hold);
}

/* ---- 4. The write that decides ------------------------------------------------------------- */

static void decided(struct zr_task *task)
{
    const struct zr_request *answer = &task->call->request;
    if (task->outcome == ZR_OK) {
        const struct zr_request *said = answer->op == ZR_OP_MULTI ? &answer->parts[1] : answer;
        zr_candidate_of(task)->mzxid = said->stat.mzxid;
        zr_candidate_of(task)->version = said->stat.version;
        lead(task, said->stat.mzxid);
    } else if (task->outcome == ZR_BAD_VERSION || task->outcome == ZR_NO_NODE) {
        zr_rank_look_again(task);
    } else {
        zr_verb_fail(task, task->outcome);
    }
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

static void heed_leader(struct zr_task *task);

/* ---- 3. The candidates --------------------------------------------------------------------- */

static bool is_listed(const struct zr_seats *seats, const char *name)
{
    for (size_t i = 0; i < seats->names->count; i++)
        if (strcmp(seats->names->at[i], name) == 0)
            return true;
    return false;
}

/* takes: seats. */
static void judge(struct zr_task *task, struct zr_seats *seats)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    zr_seats_unref(candidate->known);
    candidate->known = seats;
    if (is_listed(seats, candidate->named.leader))
        heed_leader(task);
    else if (zr_rank_is_best(task, seats))
        decide(task);
    else
        zr_rank_wait(task);
}

/* Events that came while the listing was out are mostly of watches that were left before it. But
   one may be younger than the listing: then it is worth another look soon. */
static void note_events(struct zr_candidate *candidate)
{
    int64_t events = zr_watch_events(candidate->news.watch);
    candidate->doubts = events != candidate->events;
    candidate->events = events;
}

/* Nobody has written to the directory since it was read. */
static void list_is_good(struct zr_task *task)
{
    struct zr_seats *seats = zr_rank_seats(task);
    if (seats == NULL) {
        zr_verb_fail(task, ZR_NO_MEMORY);
        return;
    }
    if (zr_seat_index(&zr_hold_of(task)->seat, seats) >= 0) {
        judge(task, seats);
        return;
    }
    zr_seats_unref(seats);
    zr_rank_stand_again(task);
}

static void listed(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    note_events(candidate);
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        zr_verb_fail(task, task->outcome);
    else if (zr_rank_stands_anew(task))
        return;
    else if (task->outcome == ZR_NO_NODE || task->call->request.stat.mzxid != candidate->mzxid)
        zr_rank_look_again(task);
    else
        list_is_good(task);
}

/* True if a candidate of this handle waits that came before ours and has the same rank. */
static bool waits_behind(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    ZR_LIST_EACH (link, &zr_candidate_election(task)->contest.attempts) {
        const struct zr_candidate *other = zr_candidate_standing(link);
        if (other != NULL && other->hold.seat.sequence < candidate->hold.seat.sequence &&
            other->say == candidate->say)
            return strcmp(zr_candidate_name(candidate), candidate->named.heir) != 0;
    }
    return false;
}

void zr_rank_list(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    candidate->events = zr_watch_events(candidate->news.watch);
    candidate->doubts = false;
    candidate->better[0] = '\0';
    if (candidate->version == ZR_ANY_VERSION) {
        task->detail = ZR_RANK_WRAPPED;
        zr_verb_fail(task, ZR_BAD_VERSION);
    } else if (waits_behind(task)) {
        zr_rank_wait(task);
    } else {
        zr_verb_read(task, ZR_OP_CHILDREN, candidate->hold.seat.dir, true, ZR_STEP(listed));
    }
}

/* ---- 2. The leader ------------------------------------------------------------------------- */

void zr_rank_leader_gone(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    if (zr_rank_stands_anew(task))
        return;
    strcpy(candidate->ended, candidate->named.leader);
    zr_rank_strike(candidate, candidate->named.leader);
    if (!zr_watch_on_node(candidate->news.watch))
        zr_rank_look_again(task); /* it has named another one, or another one leads already */
    else if (!candidate->hold.only_try && zr_rank_ahead(task) != NULL)
        zr_rank_wait_in_line(task);
    else
        zr_rank_list(task);
}

static void tried_leader(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        zr_rank_leader_stands(task);
    else if (task->outcome == ZR_NO_NODE)
        zr_rank_leader_gone(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void heed_leader(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    candidate->hold.position = -1; /* known only when the leader is gone */
    if (candidate->hold.only_try)
        zr_rank_read_seat(task, ZR_OP_GET, candidate->named.leader, ZR_STEP(tried_leader));
    else
        zr_rank_wait_in_line(task);
}

/* A seat that has been named, and is not any more, is gone. */
void zr_rank_note(struct zr_candidate *candidate, const struct zr_request *answer)
{
    struct zr_named named = zr_named_read(answer);
    if (strcmp(candidate->named.leader, named.leader) != 0)
        zr_rank_strike(candidate, candidate->named.leader);
    candidate->named = named;
    candidate->mzxid = answer->stat.mzxid;
    candidate->version = answer->stat.version;
}

static void looked(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    if (task->outcome == ZR_NO_NODE) {
        zr_rank_stand_again(task);
        return;
    }
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    if (zr_rank_stands_anew(task))
        return;
    zr_rank_note(candidate, &task->call->request);
    const char *leader = candidate->named.leader;
    if (strcmp(leader, zr_candidate_name(candidate)) == 0)
        lead(task, candidate->named.token);
    else if (leader[0] == '\0' || strcmp(leader, candidate->ended) == 0)
        zr_rank_list(task);
    else
        heed_leader(task);
}

void zr_rank_look_again(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    const char *dir = candidate->hold.seat.dir;
    enum zr_status status = ZR_OK;
    if (candidate->news.watch == NULL)
        status = zr_watch_join(task->session, dir, 2, ZR_WATCHED_BYTES_COMMON, &candidate->news);
    if (status == ZR_OK)
        zr_verb_read(task, ZR_OP_GET, dir, true, ZR_STEP(looked));
    else
        zr_verb_fail(task, status);
}
