#include "core/watch.h"
#include "recipes/election/rank.h"

/*
 * The seat of a candidate by rank: how it is taken, and how another one takes its place because the
 * rank has changed, or because its znode was deleted from outside.
 */

static void stood(struct zr_task *task);

void zr_rank_contend(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    struct zr_rank_say *say = zr_candidate_election(task)->say;
    zr_rank_say_put(&candidate->say, say);
    zr_rank_note_write(say->rank, candidate->note);
    candidate->hold.seat.data = (struct zr_bytes){say->text, say->length};
    zr_verb_contend(task, &candidate->hold.seat, ZR_STEP(stood));
}

static void stand_anew(struct zr_task *task)
{
    zr_verb_vacate(task, &zr_hold_of(task)->seat, ZR_STEP(zr_rank_contend));
}

/* The rank may have changed while the create was in flight. */
static void stood(struct zr_task *task)
{
    if (zr_candidate_outdated(task)) {
        stand_anew(task);
        return;
    }
    zr_signal_fire(&zr_candidate_election(task)->stood, ZR_OK);
    zr_rank_look_again(task);
}

void zr_rank_stand_again(struct zr_task *task)
{
    zr_seat_gone(&zr_hold_of(task)->seat);
    zr_rank_contend(task);
}

void zr_rank_park(struct zr_task *task)
{
    zr_candidate_of(task)->waits = zr_candidate_of(task)->parked = true;
}

bool zr_rank_stands_anew(struct zr_task *task)
{
    zr_candidate_of(task)->parked = false;
    if (!zr_candidate_outdated(task))
        return false;
    stand_anew(task);
    return true;
}

void zr_rank_rouse(struct zr_candidate *candidate)
{
    if (!candidate->parked)
        return;
    candidate->parked = false;
    zr_watch_leave(&candidate->hold.task);
    zr_task_wake(&candidate->hold.task, ZR_OK);
}
