#include <string.h>

#include "recipes/election/rank.h"

/*
 * How a leader by rank attends to the directory, by a task in the background:
 * 1. It lists the candidates with a watch, and again after each change, so that it can name the
 *    next one at once when it resigns (rank_depart.c).
 * 2. It reads the data with a watch, and again after each write. If they do not name it any more,
 *    another candidate may lead, though the seat of this one stands: the term is lost, and the seat
 *    is deleted. (Only a client that is no candidate can have written that.)
 * One request for each change, of the leader only.
 *
 * What can go wrong: the directory cannot be read, or there is no memory: the task ends, the leader
 * names nobody, and only its guarded writes find out that it is not named any more.
 */

static struct zr_candidate *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_candidate, attendant);
}

int32_t zr_rank_version(const struct zr_hold *hold)
{
    return ((const struct zr_candidate *)hold)->version;
}

bool zr_rank_names(struct zr_hold *hold, const struct zr_request *answer)
{
    struct zr_candidate *candidate = (struct zr_candidate *)hold;
    struct zr_named named = zr_named_read(answer);
    bool ours = answer->status == ZR_OK && strcmp(named.leader, zr_candidate_name(candidate)) == 0;
    if (ours)
        candidate->version = answer->stat.version;
    return ours;
}

/* ---- The task ------------------------------------------------------------------------------ */

static void list(struct zr_task *task);
static void read_data(struct zr_task *task);

static void forget_known(struct zr_candidate *candidate)
{
    zr_seats_unref(candidate->known);
    candidate->known = NULL;
}

static void changed(struct zr_task *task)
{
    forget_known(of(task));
    if (zr_watch_on_node(of(task)->news.watch))
        list(task);
    else
        read_data(task);
}

static void lose(struct zr_task *task)
{
    struct zr_hold *hold = &of(task)->hold;
    zr_object_ref(&hold->object);
    zr_task_finish(task, ZR_OK);
    zr_hold_deposed(hold);
    zr_object_unref(&hold->object);
}

/* Both have been read, and the watches are there, or an event has come since. */
static void await_change(struct zr_task *task)
{
    struct zr_candidate *candidate = of(task);
    zr_verb_await_change(task, candidate->news.watch, candidate->events, ZR_STEP(changed));
}

static void was_read(struct zr_task *task)
{
    struct zr_candidate *candidate = of(task);
    if (task->outcome != ZR_OK)
        zr_task_finish(task, ZR_OK);
    else if (!zr_rank_names(&candidate->hold, &task->call->request))
        lose(task);
    else if (candidate->known != NULL)
        await_change(task);
    else
        list(task);
}

static void read_data(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_GET, of(task)->hold.seat.dir, true, ZR_STEP(was_read));
}

static void listed(struct zr_task *task)
{
    struct zr_candidate *candidate = of(task);
    candidate->known = task->outcome == ZR_OK ? zr_rank_seats(task) : NULL;
    if (candidate->known == NULL)
        zr_task_finish(task, ZR_OK);
    else if (zr_watch_on_node(candidate->news.watch))
        await_change(task);
    else
        read_data(task);
}

static void list(struct zr_task *task)
{
    struct zr_candidate *candidate = of(task);
    candidate->events = zr_watch_events(candidate->news.watch);
    zr_verb_read(task, ZR_OP_CHILDREN, candidate->hold.seat.dir, true, ZR_STEP(listed));
}

static void begin(struct zr_task *task)
{
    struct zr_candidate *candidate = of(task);
    const char *dir = candidate->hold.seat.dir;
    enum zr_status status = ZR_OK;
    forget_known(candidate);
    if (candidate->news.watch == NULL)
        status = zr_watch_join(task->session, dir, 2, ZR_WATCHED_BYTES_COMMON, &candidate->news);
    if (status == ZR_OK)
        list(task);
    else
        zr_task_finish(task, ZR_OK);
}

static void end(struct zr_task *task)
{
    struct zr_candidate *candidate = of(task);
    candidate->attended = false;
    zr_rank_stop_looking(candidate);
    zr_object_unref(&candidate->hold.object);
}

static const struct zr_task_kind kind = {.name = "election:campaign", .bound = true, .free = end};

void zr_rank_attend(struct zr_candidate *candidate)
{
    struct zr_hold *hold = &candidate->hold;
    if (candidate->attended)
        return;
    candidate->attended = true;
    zr_object_ref(&hold->object);
    zr_task_start(&candidate->attendant, &kind, hold->session, hold->task.subject, -1,
                  ZR_STEP(begin));
    zr_task_detach(&candidate->attendant);
}
