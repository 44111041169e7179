#include "recipes/barrier/join.h"

#include "core/alloc.h"
#include "core/names.h"

/*
 * A member joins a round:
 * 1. Wait for a connection, and take a tag in its session.
 * 2. Create both znodes (announce), and the directory if it is missing.
 * 3. Begin rounds, until fewer than n wait (join_count.c).
 * 4. Wait until its w- znode is gone, and look whether its m- znode is there.
 * 5. A member of a cyclic barrier deletes its m- znode.
 *
 * What can go wrong: the limit passes, or a request fails: give_up.c. The session is lost: the
 * task is bound to it as soon as it has a tag, so the znodes are created in no other session. The
 * end of our session deletes w- too, and the server may say so before it says that the session has
 * ended; then m- is gone, too. The caller is gone when the task has succeeded: the member is
 * dropped.
 */

struct zr_join *zr_join_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_visit_of(task), struct zr_join, visit);
}

/* ---- In a round ---------------------------------------------------------------------------- */

static void rest_deleted(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

void zr_join_through(struct zr_task *task)
{
    struct zr_join *join = zr_join_of(task);
    join->through = true;
    if (zr_rounds_of(task)->leaves)
        zr_task_finish(task, ZR_OK);
    else if (task->tries || join->giving_up)
        zr_task_interrupt(task, ZR_OK); /* the clean-up deletes m- */
    else
        zr_visit_delete(task, join->visit.member->takes_part, ZR_STEP(rest_deleted));
}

static void taken_part(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        zr_join_through(task);
    else if (task->outcome == ZR_NO_NODE)
        zr_task_interrupt(task, ZR_LOST);
    else
        zr_verb_fail(task, task->outcome);
}

static void begun(struct zr_task *task)
{
    const char *path = zr_visit_of(task)->member->takes_part;
    zr_verb_read(task, ZR_OP_EXISTS, path, false, ZR_STEP(taken_part));
}

/* With a limit of 0. */
static void looked(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        begun(task);
    else
        zr_verb_fail(task, task->outcome == ZR_OK ? ZR_TIMEOUT : task->outcome);
}

void zr_join_await(struct zr_task *task)
{
    const char *path = zr_visit_of(task)->member->waits;
    if (task->tries)
        zr_verb_read(task, ZR_OP_EXISTS, path, false, ZR_STEP(looked));
    else
        zr_verb_await_deleted(task, path, 0, ZR_STEP(begun));
}

/* ---- Announcing ---------------------------------------------------------------------------- */

static void announce(struct zr_task *task);

static void announced(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NODE_EXISTS) {
        zr_join_count(task);
    } else if (task->outcome == ZR_NO_NODE) {
        zr_verb_ensure(task, zr_znode_of(task)->full, false, ZR_STEP(announce));
    } else {
        zr_verb_fail(task, task->outcome);
    }
}

static enum zr_status new_multi(struct zr_task *task, struct zr_call **call)
{
    const struct zr_member *member = zr_visit_of(task)->member;
    const char *namespace = task->session->namespace;
    const struct zr_bytes empty = {"", 0};
    const struct zr_request parts[] = {
        {.op = ZR_OP_CREATE,
         .path = zr_path_inside(namespace, member->waits),
         .data = empty,
         .mode = ZR_EPHEMERAL},
        {.op = ZR_OP_CREATE,
         .path = zr_path_inside(namespace, member->takes_part),
         .data = empty,
         .mode = ZR_EPHEMERAL},
    };
    return zr_member_new_multi(task, parts, 2, call);
}

static void announce(struct zr_task *task)
{
    struct zr_call *call;
    enum zr_status status = new_multi(task, &call);
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    zr_join_of(task)->announced = true;
    zr_verb_request(task, call, true, ZR_STEP(announced));
}

/* ---- The method ---------------------------------------------------------------------------- */

static void left_alone(struct zr_task *task)
{
    struct zr_rounds *rounds = zr_rounds_of(task);
    if (rounds->entering == task)
        rounds->entering = NULL;
}

/* A member of a double barrier becomes that of the object. */
static void results(struct zr_task *task, struct zr_sink *sink)
{
    struct zr_rounds *rounds = zr_rounds_of(task);
    sink->boolean(sink, NULL, true);
    if (rounds->leaves)
        rounds->member = zr_member_ref(zr_visit_of(task)->member);
    left_alone(task);
}

static void discard(struct zr_task *task)
{
    if (zr_rounds_of(task)->leaves)
        zr_farewell_start(zr_rounds_of(task), zr_visit_of(task)->member);
    zr_task_release(task);
}

static void clean(struct zr_task *task)
{
    left_alone(task);
    zr_join_clean(task);
}

static void free_join(struct zr_task *task)
{
    left_alone(task);
    zr_free(zr_join_of(task)->text);
    zr_visit_free(task);
}

#define KIND .results = results, .discard = discard, .free = free_join
#define MEMBER .bound = true, .clean = clean, .give_up = zr_join_give_up, .failed = zr_join_failed

/* Without a member yet, and with one; of a cyclic and of a double barrier. */
static const struct zr_task_kind kinds[][2] = {
    {{.name = "cyclic_barrier:wait", KIND}, {.name = "double_barrier:enter", KIND}},
    {{.name = "cyclic_barrier:wait", MEMBER, KIND}, {.name = "double_barrier:enter", MEMBER, KIND}},
};

static void begin(struct zr_task *task)
{
    struct zr_rounds *rounds = zr_rounds_of(task);
    if (task->session->state != ZR_CONNECTED) {
        zr_verb_await(task, &task->session->changed, ZR_STEP(begin));
        return;
    }
    struct zr_member *member = zr_visit_of(task)->member = zr_member_new(rounds);
    if (member == NULL) {
        zr_verb_fail(task, ZR_NO_MEMORY);
        return;
    }
    if (!rounds->leaves) {
        zr_member_unref(rounds->member);
        rounds->member = zr_member_ref(member);
    }
    task->kind = &kinds[1][rounds->leaves];
    announce(task);
}

enum zr_status zr_rounds_join(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_rounds *rounds = (struct zr_rounds *)self;
    struct zr_znode_task *znode_task;
    if (rounds->leaves && (rounds->member != NULL || rounds->entering != NULL)) {
        args->misuse = "this object is in a round already, or enters one; call leave first";
        return ZR_BAD_ARGUMENTS;
    }
    enum zr_status status = zr_znode_task_new(sizeof(struct zr_join), self, &znode_task);
    if (status != ZR_OK)
        return status;
    *task = &znode_task->task;
    const struct zr_arg *limit = &args->at[0];
    zr_join_of(*task)->deadline_us =
        limit->given ? zr_engine_now_us(rounds->znode.session->engine) + limit->integer : -1;
    if (rounds->leaves)
        rounds->entering = *task;
    zr_znode_task_start(znode_task, &kinds[0][rounds->leaves], limit, ZR_STEP(begin));
    return ZR_OK;
}
