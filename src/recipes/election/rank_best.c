#include <string.h>

#include "core/seats.h"
#include "recipes/election/rank.h"

/*
 * Which candidate of a listing should lead. Their names have their ranks, so no znode is read. The
 * last listing is kept: it shows behind whom ours waits in line; and, if ours leads, who is next.
 *
 * A named successor that stands comes first. If there is none, and fewer candidates stand than the
 * quorum, no candidate should lead. If there are enough, the one with the highest rank should; of
 * equal ranks, the one that came first.
 */

static bool is_heir(const struct zr_candidate *candidate, const struct zr_seat_name *seat)
{
    return strcmp(seat->name, candidate->named.heir) == 0;
}

/* Names of other kinds belong to other programs. */
static bool is_candidate(const struct zr_seat_name *seat)
{
    return seat->stem == &zr_rank_stem;
}

/* candidate: that knows the successor. */
static bool comes_before(const struct zr_candidate *candidate, const struct zr_seat_name *one,
                         const struct zr_seat_name *other)
{
    if (!is_candidate(one) || is_heir(candidate, other))
        return false;
    if (is_heir(candidate, one))
        return true;
    return one->note > other->note || (one->note == other->note && one->sequence < other->sequence);
}

static int32_t count_ahead(const struct zr_candidate *candidate, const struct zr_seats *seats,
                           const struct zr_seat_name *seat)
{
    int32_t ahead = 0;
    for (size_t i = 0; i < seats->count; i++)
        ahead += comes_before(candidate, &seats->at[i], seat);
    return ahead;
}

static size_t count_standing(const struct zr_seats *seats)
{
    size_t count = 0;
    for (size_t i = 0; i < seats->count; i++)
        count += is_candidate(&seats->at[i]);
    return count;
}

static const struct zr_seat_name *best_of(const struct zr_candidate *candidate,
                                          const struct zr_seats *seats,
                                          const struct zr_seat_name *own)
{
    const struct zr_seat_name *best = own;
    for (size_t i = 0; i < seats->count; i++)
        if (comes_before(candidate, &seats->at[i], best))
            best = &seats->at[i];
    return best;
}

static void note_positions(struct zr_task *task, const struct zr_seats *seats)
{
    const struct zr_candidate *own = zr_candidate_of(task);
    ZR_LIST_EACH (link, &zr_candidate_election(task)->contest.attempts) {
        struct zr_candidate *other = zr_candidate_standing(link);
        int64_t index = other != NULL ? zr_seat_index(&other->hold.seat, seats) : -1;
        if (index >= 0)
            other->hold.position = count_ahead(own, seats, &seats->at[index]);
    }
}

bool zr_rank_is_best(struct zr_task *task, const struct zr_seats *seats)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    const struct zr_seat_name *own = &seats->at[zr_seat_index(&candidate->hold.seat, seats)];
    const struct zr_seat_name *best = best_of(candidate, seats, own);
    note_positions(task, seats);
    candidate->better[0] = '\0';
    if (best != own && strlen(best->name) < sizeof(candidate->better))
        strcpy(candidate->better, best->name);
    if (best != own)
        return false;
    return is_heir(candidate, own) || count_standing(seats) >= zr_candidate_election(task)->quorum;
}

const char *zr_rank_best(const struct zr_candidate *candidate, const struct zr_seats *seats)
{
    const struct zr_seat_name *best = NULL;
    size_t others = 0;
    for (size_t i = 0; i < seats->count; i++) {
        const struct zr_seat_name *seat = &seats->at[i];
        if (!is_candidate(seat) || strcmp(seat->name, zr_candidate_name(candidate)) == 0)
            continue;
        others++;
        if (best == NULL || comes_before(candidate, seat, best))
            best = seat;
    }
    size_t quorum = ((const struct zr_election *)candidate->hold.owner)->quorum;
    return others > 0 && others >= quorum ? best->name : NULL;
}

struct zr_seats *zr_rank_seats(struct zr_task *task)
{
    struct zr_request *answer = &task->call->request;
    struct zr_seats *seats = zr_seats_new(task->session->engine->recipes, answer->names);
    if (seats == NULL)
        return NULL;
    answer->names = NULL;
    seats->stat = answer->stat;
    return seats;
}

/* ---- In line ------------------------------------------------------------------------------- */

void zr_rank_strike(struct zr_candidate *candidate, const char *name)
{
    struct zr_seats *known = candidate->known;
    size_t kept = 0;
    if (known == NULL)
        return;
    for (size_t i = 0; i < known->count; i++)
        if (strcmp(known->at[i].name, name) != 0)
            known->at[kept++] = known->at[i];
    known->count = kept;
}

/* One that is ahead and not in the listing has come later: it leads before ours all the same, since
   who is to lead lists again. */
const char *zr_rank_ahead(struct zr_task *task)
{
    const struct zr_candidate *candidate = zr_candidate_of(task);
    const struct zr_seats *known = candidate->known;
    int64_t index = known != NULL ? zr_seat_index(&candidate->hold.seat, known) : -1;
    const struct zr_seat_name *nearest = NULL;
    for (size_t i = 0; index >= 0 && i < known->count; i++)
        if (comes_before(candidate, &known->at[i], &known->at[index]) &&
            (nearest == NULL || comes_before(candidate, nearest, &known->at[i])))
            nearest = &known->at[i];
    return nearest != NULL && strlen(nearest->name) < ZR_RANK_NAME ? nearest->name : NULL;
}
