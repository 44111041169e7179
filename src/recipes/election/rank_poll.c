#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/election/rank.h"

/*
 * Which candidate is the best:
 * 1. Read the znodes of all candidates of a listing, all at the same time. The ranks of those that
 *    this session has are known, unless the answer to a write of update_rank is missing.
 * 2. A named successor that stands is the best. If there is none and fewer candidates stand than
 *    the quorum, no candidate is the best. If there are enough, the candidate with the highest rank
 *    is the best; of equal ranks, the one that came first.
 *
 * The ranks are kept until the next look. If they show a better candidate that still stands, our
 * candidate need not read, because the better one acts. Kept ranks never decide who leads, only a
 * look does. Because ranks change, no candidate uses them for longer than rank.c says.
 *
 * A candidate whose znode is gone, or is not ephemeral, does not stand. One without a rank stands,
 * for the quorum, but is never the best.
 */

/* ---- Reading ------------------------------------------------------------------------------- */

void zr_rank_poll_fini(struct zr_rank_poll *poll)
{
    for (size_t i = 0; i < poll->count; i++)
        zr_call_free(poll->at[i].read);
    zr_free(poll->at);
    zr_seats_unref(poll->seats);
    *poll = (struct zr_rank_poll){.seats = NULL};
}

/* Only the rank is kept. */
static void take_rank(struct zr_rank_entry *entry)
{
    const struct zr_request *read = &entry->read->request;
    entry->stands = read->status == ZR_OK && read->stat.ephemeral_owner != 0;
    entry->ranked = entry->stands && zr_rank_read(read->data_reply, &entry->rank) > 0;
    zr_call_free(entry->read);
    entry->read = NULL;
}

static void was_read(struct zr_call *call)
{
    struct zr_rank_poll *poll = call->owner;
    enum zr_status status = call->request.status;
    if (status == ZR_CONNECTION_LOSS) {
        zr_call_again(call);
        return;
    }
    if (status != ZR_OK && status != ZR_NO_NODE)
        poll->status = status;
    if (--poll->missing == 0)
        zr_signal_fire(&poll->done, ZR_OK);
}

/* The candidate of this session that stands at the path, if it knows its rank; or null. */
static const struct zr_candidate *ours_at(const struct zr_session *session, const char *path)
{
    const struct zr_seat *seat = zr_seat_find(session, path);
    if (seat == NULL || seat->stem != &zr_rank_stem)
        return NULL;
    const struct zr_hold *hold = ZR_HOLDER(seat, const struct zr_hold, seat);
    bool waits = hold->state == ZR_ACQUIRING && hold->task.phase == ZR_RUNNING;
    const struct zr_candidate *ours = (const struct zr_candidate *)hold;
    return waits && ours->sent == NULL ? ours : NULL;
}

static enum zr_status ask(struct zr_task *task, const char *path, struct zr_rank_entry *entry)
{
    struct zr_rank_poll *poll = &zr_candidate_of(task)->poll;
    const struct zr_candidate *ours = ours_at(task->session, path);
    if (ours != NULL) {
        entry->stands = entry->ranked = true;
        entry->rank = ours->say->rank;
        return ZR_OK;
    }
    enum zr_status status =
        zr_call_new_full(task->session, ZR_OP_GET, path, ZR_NO_DATA, &entry->read);
    if (status != ZR_OK)
        return status;
    poll->missing++;
    zr_call_start(entry->read, was_read, poll);
    return ZR_OK;
}

static enum zr_status ask_all(struct zr_task *task)
{
    struct zr_rank_poll *poll = &zr_candidate_of(task)->poll;
    enum zr_status status = ZR_OK;
    for (; status == ZR_OK && poll->count < poll->seats->count; poll->count++) {
        const char *dir = zr_hold_of(task)->seat.dir;
        char *path = zr_path_child(dir, poll->seats->at[poll->count].name);
        status = path != NULL ? ask(task, path, &poll->at[poll->count]) : ZR_NO_MEMORY;
        zr_free(path);
    }
    return status;
}

static void all_read(struct zr_task *task)
{
    struct zr_rank_poll *poll = &zr_candidate_of(task)->poll;
    for (size_t i = 0; i < poll->count; i++)
        if (poll->at[i].read != NULL)
            take_rank(&poll->at[i]);
    if (poll->status == ZR_OK)
        poll->next.step(task);
    else
        zr_verb_fail(task, poll->status);
}

void zr_rank_poll(struct zr_task *task, struct zr_seats *seats, struct zr_next next)
{
    struct zr_rank_poll *poll = &zr_candidate_of(task)->poll;
    zr_rank_poll_fini(poll);
    poll->seats = seats;
    poll->next = next;
    zr_signal_init(&poll->done);
    poll->at = zr_alloc((seats->count + 1) * sizeof(*poll->at));
    enum zr_status status = poll->at != NULL ? ask_all(task) : ZR_NO_MEMORY;
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
    } else if (poll->missing == 0) {
        all_read(task);
    } else {
        zr_verb_await(task, &poll->done, ZR_STEP(all_read));
        task->asking = true;
    }
}

/* ---- Judging ------------------------------------------------------------------------------- */

static bool is_heir(const struct zr_candidate *candidate, size_t index)
{
    return strcmp(candidate->poll.seats->at[index].name, candidate->named.heir) == 0;
}

/* True if the candidate at `one` comes before that at `other`, which stands. */
static bool comes_before(const struct zr_candidate *candidate, size_t one, size_t other)
{
    const struct zr_rank_entry *a = &candidate->poll.at[one], *b = &candidate->poll.at[other];
    if (!a->stands || is_heir(candidate, other))
        return false;
    if (is_heir(candidate, one))
        return true;
    if (!a->ranked || !b->ranked)
        return a->ranked;
    return a->rank > b->rank || (a->rank == b->rank && one < other);
}

static int32_t count_ahead(const struct zr_candidate *candidate, size_t index)
{
    int32_t ahead = 0;
    for (size_t i = 0; i < candidate->poll.count; i++)
        ahead += i != index && comes_before(candidate, i, index);
    return ahead;
}

static size_t count_standing(const struct zr_rank_poll *poll)
{
    size_t count = 0;
    for (size_t i = 0; i < poll->count; i++)
        count += poll->at[i].stands;
    return count;
}

bool zr_rank_is_best(struct zr_task *task)
{
    struct zr_candidate *own = zr_candidate_of(task);
    const struct zr_election *election = zr_candidate_election(task);
    ZR_LIST_EACH (link, &election->contest.attempts) {
        struct zr_candidate *other = zr_candidate_standing(link);
        int64_t index = other != NULL ? zr_seat_index(&other->hold.seat, own->poll.seats) : -1;
        if (index >= 0)
            other->hold.position = count_ahead(own, (size_t)index);
    }
    int64_t index = zr_seat_index(&own->hold.seat, own->poll.seats);
    if (index < 0 || own->hold.position > 0)
        return false;
    return is_heir(own, (size_t)index) || count_standing(&own->poll) >= election->quorum;
}

/* ---- Without reading ----------------------------------------------------------------------- */

/* True if the candidate at this place of the last look was better than ours. */
static bool was_better(const struct zr_candidate *own, size_t index)
{
    const struct zr_rank_entry *entry = &own->poll.at[index];
    int64_t rank = own->say->rank;
    bool first = own->poll.seats->at[index].sequence < own->hold.seat.sequence;
    return entry->ranked && (entry->rank > rank || (entry->rank == rank && first));
}

static bool shows(const struct zr_seats *seats, const char *name)
{
    for (size_t i = 0; i < seats->count; i++)
        if (strcmp(seats->at[i].name, name) == 0)
            return true;
    return false;
}

bool zr_rank_knows_better(struct zr_task *task, const struct zr_seats *seats)
{
    const struct zr_candidate *own = zr_candidate_of(task);
    const char *heir = own->named.heir;
    const struct zr_rank_poll *last = &own->poll;
    size_t at = 0;
    if (heir[0] != '\0' && shows(seats, heir))
        return strcmp(heir, zr_candidate_name(own)) != 0;
    for (size_t i = 0; own->sent == NULL && i < last->count; i++) {
        const struct zr_seat_name *known = &last->seats->at[i];
        while (at < seats->count && seats->at[at].sequence < known->sequence)
            at++;
        if (at < seats->count && was_better(own, i) && strcmp(seats->at[at].name, known->name) == 0)
            return true;
    }
    return false;
}
