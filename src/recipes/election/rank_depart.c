#include <string.h>

#include "core/names.h"
#include "recipes/election/rank.h"

/*
 * How a leader by rank leaves when it resigns: it names the next one. (Its term is over before.)
 * 1. In one transaction write the name of the best candidate of our listing (rank_attend.c) into
 *    the directory, and delete our seat; on condition that nobody has written there since ours was
 *    named. It is sent at once, because the program may do something else than wait from now on.
 * 2. The best candidate, which is next in line, is told of it. It reads the directory, which names
 *    it (rank.c), and leads.
 *
 * What can go wrong: there is no listing yet, fewer candidates stand than the quorum, or the
 * condition is not met (a named successor stands there, rank_resign.c): then only delete our seat;
 * the others decide. The answer is lost: our seat is deleted until it is certainly gone, whether
 * the next one was named or not. The next one is gone, too: whoever reads its name finds that, and
 * decides. A better one has come after the listing: it is not named, as if it had come after the
 * decision.
 */

static void departed(struct zr_task *task)
{
    if (task->outcome == ZR_OK) {
        zr_seat_gone(&zr_hold_of(task)->seat);
        zr_task_finish(task, ZR_OK);
    } else {
        zr_hold_clean(task);
    }
}

/* gives: the transaction. version: of the directory since ours was named. */
static enum zr_status new_departure(struct zr_task *task, const char *next, int32_t version,
                                    struct zr_call **call)
{
    const struct zr_seat *seat = &zr_hold_of(task)->seat;
    const char *namespace = task->session->namespace;
    const struct zr_request parts[] = {
        {.op = ZR_OP_SET,
         .path = zr_path_inside(namespace, seat->dir),
         .data = {next, strlen(next)},
         .version = version},
        {.op = ZR_OP_DELETE,
         .path = zr_path_inside(namespace, seat->path),
         .version = ZR_ANY_VERSION},
    };
    enum zr_status status = zr_call_new_multi(task->session, NULL, parts, 2, call);
    if (status != ZR_OK)
        return status;
    (*call)->bound = true;
    (*call)->generation = seat->generation;
    return ZR_OK;
}

/* True if ours has been the last name in the directory, and its version can be compared. */
static bool still_named(const struct zr_candidate *candidate, const struct zr_stat *dir)
{
    return dir->mzxid == candidate->mzxid && dir->version != ZR_ANY_VERSION;
}

/* gives: the transaction, by this listing; null: nobody can be named. */
static struct zr_call *name_next(struct zr_task *task, const struct zr_seats *seats)
{
    const struct zr_candidate *candidate = zr_candidate_of(task);
    struct zr_call *call = NULL;
    const char *next = still_named(candidate, &seats->stat) ? zr_rank_best(candidate, seats) : NULL;
    if (next != NULL && strlen(next) < ZR_RANK_NAME)
        new_departure(task, next, seats->stat.version, &call);
    return call;
}

void zr_rank_depart(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    bool over = zr_seat_over(&candidate->hold.seat);
    struct zr_call *call =
        candidate->known != NULL && !over ? name_next(task, candidate->known) : NULL;
    zr_task_interrupt(&candidate->attendant, ZR_CANCELED);
    if (call != NULL)
        zr_verb_request(task, call, false, ZR_STEP(departed));
    else
        zr_hold_clean(task);
}
