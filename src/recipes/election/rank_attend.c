#include "recipes/election/rank.h"

/*
 * How a leader by rank attends to the candidates, so that it can name the next one at once when it
 * resigns (rank_depart.c): a task in the background lists the directory with a watch, and again
 * after each event. One request for each change, of the leader only.
 *
 * What can go wrong: the directory cannot be listed, or there is no memory: the task ends, and the
 * leader names nobody.
 */

static struct zr_candidate *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_candidate, attendant);
}

static void list(struct zr_task *task);

static void listed(struct zr_task *task)
{
    struct zr_candidate *candidate = of(task);
    candidate->known = task->outcome == ZR_OK ? zr_rank_seats(task) : NULL;
    if (candidate->known != NULL)
        zr_verb_await_change(task, candidate->news.watch, candidate->events, ZR_STEP(list));
    else
        zr_task_finish(task, ZR_OK);
}

static void list(struct zr_task *task)
{
    struct zr_candidate *candidate = of(task);
    zr_seats_unref(candidate->known);
    candidate->known = NULL;
    candidate->events = zr_watch_events(candidate->news.watch);
    zr_verb_read(task, ZR_OP_CHILDREN, candidate->hold.seat.dir, true, ZR_STEP(listed));
}

static void end(struct zr_task *task)
{
    struct zr_candidate *candidate = of(task);
    zr_rank_stop_looking(candidate);
    zr_object_unref(&candidate->hold.object);
}

static const struct zr_task_kind kind = {.name = "election:campaign", .bound = true, .free = end};

void zr_rank_attend(struct zr_candidate *candidate)
{
    struct zr_hold *hold = &candidate->hold;
    zr_object_ref(&hold->object);
    zr_task_start(&candidate->attendant, &kind, hold->session, hold->task.subject, -1,
                  ZR_STEP(list));
    zr_task_detach(&candidate->attendant);
}
