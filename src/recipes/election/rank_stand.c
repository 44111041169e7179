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
    zr_rank_unguard(zr_candidate_of(task));
    zr_verb_vacate(task, &zr_hold_of(task)->seat, ZR_STEP(zr_rank_contend));
}

/* The listing shows behind whom ours waits in line. Other tasks must not see what is struck from
   it, so it is not kept if one has it, too. */
static void keep_listing(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    zr_seats_unref(candidate->known);
    candidate->known = NULL;
    if (task->seats->refs > 1)
        return;
    candidate->known = task->seats;
    task->seats = NULL;
}

/* The rank may have changed while the create was in flight. */
static void stood(struct zr_task *task)
{
    keep_listing(task);
    if (zr_candidate_outdated(task)) {
        stand_anew(task);
        return;
    }
    zr_signal_fire(&zr_candidate_election(task)->stood, ZR_OK);
    zr_rank_look_again(task);
}

void zr_rank_stand_again(struct zr_task *task)
{
    zr_rank_unguard(zr_candidate_of(task));
    zr_candidate_of(task)->removed = false;
    zr_seat_gone(&zr_hold_of(task)->seat);
    zr_rank_contend(task);
}

/* ---- Its znode may be deleted from outside ------------------------------------------------- */

static struct zr_candidate *guarded_by(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_candidate, seat_guard);
}

static void removed(struct zr_task *task)
{
    struct zr_candidate *candidate = guarded_by(task);
    candidate->removed = true;
    zr_rank_rouse(candidate);
    zr_task_finish(task, ZR_OK);
}

static void watch_seat(struct zr_task *task)
{
    zr_verb_await_deleted(task, guarded_by(task)->hold.seat.path, 0, ZR_STEP(removed));
}

static void end_guard(struct zr_task *task)
{
    guarded_by(task)->seat_guarded = false;
    zr_object_unref(&guarded_by(task)->hold.object);
}

static const struct zr_task_kind guard_kind = {
    .name = "election:campaign", .bound = true, .free = end_guard};

void zr_rank_guard(struct zr_candidate *candidate)
{
    struct zr_hold *hold = &candidate->hold;
    if (candidate->seat_guarded)
        return;
    candidate->seat_guarded = true;
    zr_object_ref(&hold->object);
    zr_task_start(&candidate->seat_guard, &guard_kind, hold->session, hold->task.subject, -1,
                  ZR_STEP(watch_seat));
    zr_task_detach(&candidate->seat_guard);
}

void zr_rank_unguard(struct zr_candidate *candidate)
{
    zr_task_interrupt(&candidate->seat_guard, ZR_CANCELED);
}

/* ---- Waiting, and being roused ------------------------------------------------------------- */

void zr_rank_park(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    candidate->waits = candidate->parked = true;
    candidate->roused = false;
}

bool zr_rank_stands_anew(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    bool removed = candidate->removed;
    candidate->parked = candidate->removed = false;
    if (removed)
        zr_rank_stand_again(task);
    else if (zr_candidate_outdated(task))
        stand_anew(task);
    else
        return false;
    return true;
}

void zr_rank_rouse(struct zr_candidate *candidate)
{
    if (!candidate->parked)
        return;
    candidate->parked = false;
    candidate->roused = true;
    zr_watch_leave(&candidate->hold.task);
    zr_task_wake(&candidate->hold.task, ZR_OK);
}
