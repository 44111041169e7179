#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/election/rank.h"
#include "recipes/election/value.h"

/*
 * Tells tasks of every change of the leader. One task of the election, the follower, looks for all
 * of them:
 * 1. Look as leader.c does, leaving a watch on the leader's node; or, if there is no leader, on the
 *    directory. Follow the watch's events before the look, so that none is missed.
 * 2. If the result differs from the last look, it is a change. Each task that has seen fewer
 *    changes is told.
 * 3. On an event, look again. When no task waits any more: end.
 *
 * What can go wrong: several changes between two looks are reported as one. The session is lost,
 * and the server of the new session lags behind: its answer counts only after a sync, so observers
 * never see an older state again.
 */

static void follow(struct zr_task *task);

static struct zr_election *of(struct zr_task *task)
{
    return zr_look_of(task)->election;
}

/* ---- What is seen -------------------------------------------------------------------------- */

/* A leader that names its successor is no change for observers. */
static bool same(const struct zr_call *one, const struct zr_call *other)
{
    if (one == NULL || other == NULL)
        return one == other;
    const struct zr_bytes a = zr_without_successor(one->request.data_reply);
    const struct zr_bytes b = zr_without_successor(other->request.data_reply);
    return one->request.stat.czxid == other->request.stat.czxid && a.length == b.length &&
           (a.at == NULL) == (b.at == NULL) && (a.length == 0 || memcmp(a.at, b.at, a.length) == 0);
}

/* Takes: read. */
static void publish(struct zr_election *election, struct zr_call *read)
{
    if (election->changes == 0 || !same(election->seen, read))
        election->changes++;
    zr_call_free(election->seen);
    election->seen = read;
    election->current = true;
    zr_signal_fire(&election->news, ZR_OK);
}

static void synced(struct zr_task *task)
{
    of(task)->generation = of(task)->asked_generation;
    zr_look(task);
}

/* takes: read. An answer in a new session is checked once before it counts. */
static void settle(struct zr_task *task, struct zr_call *read)
{
    struct zr_election *election = of(task);
    int generation = task->session->generation;
    zr_look_forget(&election->follower);
    if (election->changes > 0 && election->generation != generation) {
        zr_call_free(read);
        election->asked_generation = generation;
        zr_look_ask(task, ZR_OP_SYNC, election->contest.dir, ZR_STEP(synced));
        return;
    }
    election->generation = generation;
    publish(election, read);
    zr_verb_await_change(task, election->watch, election->events, ZR_STEP(follow));
}

static void found(struct zr_task *task)
{
    struct zr_call *read = task->call;
    task->call = NULL;
    settle(task, read);
}

enum zr_status zr_follower_turn_to(struct zr_election *election, const char *path, int kinds)
{
    struct zr_watch *watch;
    enum zr_status status =
        zr_watch_follow(election->contest.session, path, kinds, ZR_WATCHED_BYTES_COMMON, &watch);
    if (status != ZR_OK)
        return status;
    zr_watch_unfollow(election->watch);
    election->watch = watch;
    election->events = zr_watch_events(watch);
    return ZR_OK;
}

/* ---- No leader ----------------------------------------------------------------------------- */

static void saw_directory(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        zr_look(task); /* it was made meanwhile */
    else if (task->outcome == ZR_NO_NODE)
        settle(task, NULL);
    else
        zr_verb_fail(task, task->outcome);
}

/* The only place of an unfair election. */
static void saw_place(struct zr_task *task)
{
    bool leads = task->outcome == ZR_OK && task->call->request.stat.ephemeral_owner != 0;
    if (leads)
        zr_look(task);
    else if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        settle(task, NULL);
    else
        zr_verb_fail(task, task->outcome);
}

/* True if there may be candidates. If nothing has come or gone since the listing, none of what it
   shows is a candidate: the look has read it all. */
static bool has_candidates(struct zr_task *task)
{
    const struct zr_seats *seats = zr_look_of(task)->seats;
    const struct zr_names *names = task->call->request.names;
    struct zr_seat_name read;
    if (seats != NULL && seats->stat.pzxid == task->call->request.stat.pzxid)
        return false;
    for (size_t i = 0; i < names->count; i++)
        if (zr_stem_read(task->session->engine->recipes, names->at[i], &read) &&
            read.sequence < ZR_SEQUENCE_LIMIT)
            return true;
    return false;
}

static void saw_children(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        zr_look_ask(task, ZR_OP_EXISTS, of(task)->contest.dir, ZR_STEP(saw_directory));
    else if (task->outcome != ZR_OK)
        zr_verb_fail(task, task->outcome);
    else if (has_candidates(task))
        zr_look(task);
    else
        settle(task, NULL);
}

/* By rank: the directory's data say who leads. */
static void saw_data(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        zr_look_ask(task, ZR_OP_EXISTS, of(task)->contest.dir, ZR_STEP(saw_directory));
    else if (task->outcome != ZR_OK)
        zr_verb_fail(task, task->outcome);
    else if (zr_rank_names_other(zr_look_of(task), &task->call->request))
        zr_look(task);
    else
        settle(task, NULL);
}

static void nobody(struct zr_task *task)
{
    const char *dir = of(task)->contest.dir;
    bool queues = !of(task)->unfair && of(task)->say == NULL;
    enum zr_status status = zr_follower_turn_to(of(task), dir, queues ? 2 : 1);
    if (status != ZR_OK)
        zr_verb_fail(task, status);
    else if (of(task)->say != NULL)
        zr_look_ask(task, ZR_OP_GET, dir, ZR_STEP(saw_data));
    else if (of(task)->unfair)
        zr_look_ask(task, ZR_OP_EXISTS, dir, ZR_STEP(saw_place));
    else
        zr_look_ask(task, ZR_OP_CHILDREN, dir, ZR_STEP(saw_children));
}

/* ---- The follower -------------------------------------------------------------------------- */

static void follow(struct zr_task *task)
{
    of(task)->current = false;
    if (of(task)->observers == 0)
        zr_task_finish(task, ZR_OK);
    else
        zr_look(task);
}

static void stopped(struct zr_task *task)
{
    struct zr_election *election = of(task);
    election->following = election->current = false;
    election->ended = task->status;
    zr_watch_unfollow(election->watch);
    zr_look_forget(&election->follower);
    election->watch = NULL;
    zr_signal_fire(&election->news, ZR_OK);
    zr_object_unref(&election->contest.object);
}

static const struct zr_task_kind follower_kind = {.name = "election:observe", .free = stopped};

static void start_following(struct zr_election *election)
{
    struct zr_contest *contest = &election->contest;
    zr_object_ref(&contest->object);
    election->following = true;
    election->follower =
        (struct zr_look){.election = election, .follows = true, .found = found, .nobody = nobody};
    zr_task_start(&election->follower.task, &follower_kind, contest->session, contest->path, -1,
                  ZR_STEP(follow));
    zr_task_detach(&election->follower.task);
}

void zr_follower_stop(struct zr_election *election)
{
    if (election->following && !zr_engine_forked(election->contest.session->engine))
        zr_task_interrupt(&election->follower.task, ZR_CANCELED);
}

/* ---- next_leader --------------------------------------------------------------------------- */

struct wait {
    struct zr_task task;
    struct zr_election *election; /* counted */
    int64_t told;                 /* how many changes its caller knows */
};

/* A task that has seen nothing yet is not told of a state that is already outdated. */
static bool has_news(const struct wait *wait)
{
    const struct zr_election *election = wait->election;
    return election->following && election->current && election->changes > wait->told &&
           (wait->told > 0 || zr_watch_events(election->watch) == election->events);
}

static void await_news(struct zr_task *task)
{
    struct wait *wait = ZR_HOLDER(task, struct wait, task);
    struct zr_election *election = wait->election;
    if (has_news(wait) || election->ended != ZR_OK) {
        zr_task_finish(task, election->ended);
        return;
    }
    if (!election->following)
        start_following(election);
    zr_verb_await(task, &election->news, ZR_STEP(await_news));
}

static void wait_results(struct zr_task *task, struct zr_sink *sink)
{
    const struct zr_election *election = ZR_HOLDER(task, struct wait, task)->election;
    zr_leader_emit(sink, election->seen);
    sink->integer(sink, NULL, election->changes);
}

static void wait_free(struct zr_task *task)
{
    struct wait *wait = ZR_HOLDER(task, struct wait, task);
    struct zr_election *election = wait->election;
    election->observers--;
    zr_free(wait);
    zr_object_unref(&election->contest.object);
}

static const struct zr_task_kind wait_kind = {
    .name = "election:observe", .results = wait_results, .free = wait_free};

enum zr_status zr_next_leader_start(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    struct zr_election *election = (struct zr_election *)self;
    struct zr_session *session = election->contest.session;
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    struct wait *wait = zr_alloc(sizeof(*wait));
    if (wait == NULL)
        return ZR_NO_MEMORY;
    wait->election = (struct zr_election *)zr_object_ref(self);
    wait->told = args->at[0].integer;
    election->observers++;
    if (!election->following)
        election->ended = ZR_OK;
    *task = &wait->task;
    zr_task_start(*task, &wait_kind, session, election->contest.path, -1, ZR_STEP(await_news));
    return ZR_OK;
}
