#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/watch.h"
#include "recipes/election/rank.h"

/*
 * How a candidate by rank waits.
 *
 * In line, while another one leads: for the end of the nearest candidate ahead, or, if none is
 * known, of the leader. So the end of a leader wakes only the next one. Each write to the directory
 * is read too, a moment later: it may have named ours, which does not see the end of the leader.
 *
 * While no candidate leads: for any change of the directory, since it has listed.
 *
 * What can go wrong: the better one's znode is not ephemeral: a wait in line fails at once; without
 * a leader, look at it after a second without a change, and fail. An event may be younger than the
 * listing: look again soon. The candidate of this handle that lists for ours goes before its
 * listing has left a watch: look again in any case, each time after twice the time.
 */

#define LOOK_AGAIN_US 1000000
#define QUIET_MOST 6 /* 64 s */
#define LOOK_SOON_US 250000
#define READ_LATER_US 20000

/* ---- Without a leader ---------------------------------------------------------------------- */

static void better_was_read(struct zr_task *task)
{
    const struct zr_request *answer = &task->call->request;
    if (task->outcome == ZR_OK && answer->stat.ephemeral_owner == 0)
        zr_rank_leader_stands(task);
    else if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        zr_verb_fail(task, task->outcome);
    else if (zr_rank_stands_anew(task))
        return;
    else if (task->outcome == ZR_OK)
        zr_rank_wait(task);
    else
        zr_rank_look_again(task);
}

static void woken(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    bool silent = zr_watch_events(candidate->news.watch) == candidate->events;
    candidate->quiet = !silent ? 0 : candidate->quiet + (candidate->quiet < QUIET_MOST);
    if (zr_rank_stands_anew(task))
        return;
    if (silent && candidate->better[0] != '\0')
        zr_rank_read_seat(task, ZR_OP_EXISTS, candidate->better, ZR_STEP(better_was_read));
    else if (zr_watch_on_node(candidate->news.watch))
        zr_rank_list(task);
    else
        zr_rank_look_again(task);
}

static int64_t look_again_us(const struct zr_candidate *candidate)
{
    return candidate->doubts ? LOOK_SOON_US : (int64_t)LOOK_AGAIN_US << candidate->quiet;
}

void zr_rank_wait(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    if (candidate->hold.only_try) {
        task->detail = "there are too few candidates, or another one is to lead";
        zr_verb_fail(task, ZR_TIMEOUT);
        return;
    }
    zr_rank_park(task);
    zr_verb_await_change_for(task, candidate->news.watch, candidate->events,
                             look_again_us(candidate), ZR_STEP(woken));
}

/* ---- In line ------------------------------------------------------------------------------- */

static bool is_next(const struct zr_candidate *candidate)
{
    return strcmp(candidate->awaited, candidate->named.leader) == 0;
}

static void read_late(struct zr_timer *timer)
{
    zr_rank_rouse(ZR_HOLDER(timer, struct zr_candidate, late));
}

static void read_later(struct zr_candidate *candidate)
{
    struct zr_engine *engine = candidate->hold.session->engine;
    if (candidate->late.fire == NULL)
        zr_timer_start(&engine->timers, &candidate->late, zr_engine_now_us(engine) + READ_LATER_US,
                       read_late);
}

void zr_rank_told(struct zr_follower *news, unsigned used_up)
{
    struct zr_candidate *candidate = ZR_HOLDER(news, struct zr_candidate, news);
    if ((used_up & ZR_ON_NODE) == 0 || !candidate->parked || candidate->awaited[0] == '\0')
        return;
    if (is_next(candidate))
        zr_rank_rouse(candidate);
    else
        read_later(candidate);
}

/* The seat that it waited for is gone, or it was roused. */
static void moved_up(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    bool next = is_next(candidate);
    candidate->awaited[0] = '\0';
    if (next && !candidate->roused)
        zr_rank_leader_gone(task);
    else if (zr_rank_stands_anew(task))
        return;
    else if (candidate->roused)
        zr_rank_look_again(task);
    else
        zr_rank_list(task); /* others may be gone, too */
}

/* A seat of this session is awaited by a watch, too: its znode may be deleted from outside. */
void zr_rank_wait_in_line(struct zr_task *task)
{
    struct zr_candidate *candidate = zr_candidate_of(task);
    const char *dir = candidate->hold.seat.dir, *ahead = zr_rank_ahead(task);
    candidate->quiet = 0;
    strcpy(candidate->awaited, ahead != NULL ? ahead : candidate->named.leader);
    char *path = zr_path_child(dir, candidate->awaited);
    zr_rank_park(task);
    zr_rank_guard(candidate);
    if (!zr_watch_on_node(candidate->news.watch))
        read_later(candidate);
    if (path == NULL)
        zr_verb_fail(task, ZR_NO_MEMORY);
    else if (zr_seat_find(task->session, path) != NULL)
        zr_verb_await_deleted(task, path, 0, ZR_STEP(moved_up));
    else
        zr_verb_await_gone(task, dir, candidate->awaited, NULL, ZR_STEP(moved_up));
    zr_free(path);
}
