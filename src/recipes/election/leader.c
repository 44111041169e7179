#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/election/rank.h"

/*
 * Which candidate leads, for any caller. The head of the queue stays the head until its node is
 * gone. So a successful read of that node proves that it led at that moment:
 * 1. Read the node that led at the last look: one request. If it exists, it is the leader.
 * 2. Otherwise list the queue, and read the first node. If it has gone meanwhile, list again. If it
 *    is not ephemeral, it is no candidate, whatever its name is: read the next node.
 * 3. If there is no candidate, there was no leader when the list was made.
 *
 * An unfair election has only one node to read. By rank: rank_leader.c.
 *
 * `leader` does this once; observe.c repeats it, with watches. The first candidate in the queue
 * counts as the leader even if its process does not know that yet.
 *
 * What can go wrong: the server lags behind the others, and then so does the answer.
 */

struct zr_look *zr_look_of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_look, task);
}

void zr_look_ask(struct zr_task *task, enum zr_op op, const char *path, struct zr_next next)
{
    bool watch = zr_look_of(task)->follows && op != ZR_OP_SYNC;
    zr_verb_read(task, op, path, watch, next);
}

void zr_look_forget(struct zr_look *look)
{
    zr_seats_unref(look->seats);
    look->seats = NULL;
    look->at = 0;
}

/* The node of this path is gone; another task may have found another head meanwhile. */
static void forget_head(struct zr_election *election, const char *path)
{
    if (election->head != NULL && strcmp(election->head, path) == 0) {
        zr_free(election->head);
        election->head = NULL;
    }
}

static void pass(struct zr_task *task);

static void was_read(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    if (task->outcome == ZR_OK && task->call->request.stat.ephemeral_owner == 0) {
        forget_head(look->election, task->call->request.path);
        pass(task);
    } else if (task->outcome == ZR_OK) {
        zr_look_forget(look);
        look->found(task);
    } else if (task->outcome == ZR_NO_NODE) {
        forget_head(look->election, task->call->request.path);
        zr_look(task);
    } else {
        zr_verb_fail(task, task->outcome);
    }
}

static void read_head(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    const char *head = look->election->head;
    enum zr_status status = look->follows ? zr_follower_turn_to(look->election, head, 1) : ZR_OK;
    if (status == ZR_OK)
        zr_look_ask(task, ZR_OP_GET, head, ZR_STEP(was_read));
    else
        zr_verb_fail(task, status);
}

static void read_listed(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    struct zr_election *election = look->election;
    const struct zr_seats *seats = look->seats;
    if (seats == NULL || look->at >= seats->count) {
        look->nobody(task);
        return;
    }
    zr_free(election->head);
    election->head = zr_path_child(election->contest.dir, seats->at[look->at].name);
    if (election->head != NULL)
        read_head(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void listed(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    zr_look_forget(look);
    look->seats = task->seats;
    task->seats = NULL;
    read_listed(task);
}

static void list(struct zr_task *task)
{
    zr_verb_list(task, zr_look_of(task)->election->contest.dir, ZR_STEP(listed));
}

/* The node that was read is no candidate. */
static void pass(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    look->at++;
    if (look->seats != NULL)
        read_listed(task);
    else
        list(task);
}

/* ---- Without a queue ----------------------------------------------------------------------- */

static void only_was_read(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    bool led = task->outcome == ZR_OK && task->call->request.stat.ephemeral_owner != 0;
    if (led)
        look->found(task);
    else if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        look->nobody(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void read_only_place(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    const char *place = look->election->contest.dir;
    enum zr_status status = look->follows ? zr_follower_turn_to(look->election, place, 1) : ZR_OK;
    if (status == ZR_OK)
        zr_look_ask(task, ZR_OP_GET, place, ZR_STEP(only_was_read));
    else
        zr_verb_fail(task, status);
}

void zr_look(struct zr_task *task)
{
    const struct zr_election *election = zr_look_of(task)->election;
    zr_look_forget(zr_look_of(task));
    if (election->say != NULL)
        zr_rank_look(task);
    else if (election->unfair)
        read_only_place(task);
    else if (election->head != NULL)
        read_head(task);
    else
        list(task);
}

/* ---- leader -------------------------------------------------------------------------------- */

void zr_leader_emit(struct zr_sink *sink, const struct zr_call *read)
{
    if (read == NULL) {
        sink->boolean(sink, NULL, false);
        return;
    }
    const struct zr_stat *stat = &read->request.stat;
    sink->begin(sink, NULL);
    sink->bytes(sink, "data", read->request.data_reply);
    sink->id(sink, "token", stat->czxid);
    sink->id(sink, "session", stat->ephemeral_owner);
    sink->number(sink, "since", (double)stat->ctime_ms / 1e3);
    sink->end(sink);
}

static void found(struct zr_task *task)
{
    zr_look_of(task)->read = task->call;
    task->call = NULL;
    zr_task_finish(task, ZR_OK);
}

static void nobody(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

static void results(struct zr_task *task, struct zr_sink *sink)
{
    zr_leader_emit(sink, zr_look_of(task)->read);
}

static void free_look(struct zr_task *task)
{
    struct zr_look *look = zr_look_of(task);
    struct zr_object *election = &look->election->contest.object;
    zr_call_free(look->read);
    zr_look_forget(look);
    zr_free(look);
    zr_object_unref(election);
}

static const struct zr_task_kind kind = {
    .name = "election:leader", .results = results, .free = free_look};

enum zr_status zr_leader_start(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_contest *contest = (struct zr_contest *)self;
    struct zr_session *session = contest->session;
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    struct zr_look *look = zr_alloc(sizeof(*look));
    if (look == NULL)
        return ZR_NO_MEMORY;
    look->election = (struct zr_election *)zr_object_ref(self);
    look->found = found;
    look->nobody = nobody;
    *task = &look->task;
    zr_task_start(*task, &kind, session, contest->path, zr_session_limit_us(session, &args->at[0]),
                  ZR_STEP(zr_look));
    return ZR_OK;
}
