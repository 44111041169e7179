#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/ephemerals.h"
#include "core/names.h"
#include "recipes/queue/claims.h"

/*
 * An ephemeral znode in `consumers` tells the other processes that this one claims items of the
 * queue. It is deleted with the session, or when nothing in the process needs it any more.
 *
 * What can go wrong: the answer to the create is lost. The znode may exist then, so the create is
 * repeated with the same name; but never in another session. The session is lost: another znode.
 */

#define FRESH_US 2000000 /* for which the number of consumers is used */
#define PAUSE_US 50000
#define LONGEST_US 3000000

static struct zr_consumer *consumer_of(struct zr_task *task)
{
    return &zr_queue_of(task)->consumer;
}

static void then(struct zr_task *task)
{
    zr_queue_task_of(task)->then(task);
}

/* ---- Making it ----------------------------------------------------------------------------- */

static void ensure(struct zr_task *task);

static void created(struct zr_task *task)
{
    struct zr_consumer *consumer = consumer_of(task);
    if (task->outcome != ZR_OK && task->outcome != ZR_NODE_EXISTS && task->outcome != ZR_LOST) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    bool same = task->call->generation == task->session->generation;
    if (same && task->outcome != ZR_LOST)
        consumer->present = true;
    ensure(task);
}

/* gives: a name that no other process uses. */
static enum zr_status make_name(struct zr_queue *queue)
{
    struct zr_consumer *consumer = &queue->consumer;
    struct zr_session *session = queue->znode.session;
    const char *root = queue->znode.path;
    char tag[ZR_TAG];
    size_t size = strlen(root) + ZR_TAG + 16;
    char *path = zr_alloc(size);
    if (path == NULL)
        return ZR_NO_MEMORY;
    zr_session_tag(session, session->id, tag);
    snprintf(path, size, "%s/consumers/%s", root, tag);
    zr_free(consumer->presence);
    consumer->presence = path;
    consumer->presence_id = session->id;
    consumer->present = false;
    return ZR_OK;
}

/* gives: call. */
static enum zr_status new_create(struct zr_task *task, struct zr_call **call)
{
    enum zr_status status = zr_call_new(task->session, ZR_OP_CREATE, consumer_of(task)->presence,
                                        (struct zr_bytes){"", 0}, call);
    if (status != ZR_OK)
        return status;
    (*call)->request.mode = ZR_EPHEMERAL;
    status = zr_ephemerals_reserve(*call);
    if (status != ZR_OK)
        zr_call_free(*call);
    return status;
}

static void create(struct zr_task *task)
{
    struct zr_call *call;
    enum zr_status status = new_create(task, &call);
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    call->bound = true;
    call->generation = task->session->generation;
    zr_verb_request(task, call, true, ZR_STEP(created));
}

static void ensure(struct zr_task *task)
{
    struct zr_consumer *consumer = consumer_of(task);
    int64_t id = task->session->id;
    enum zr_status status = ZR_OK;
    if (id == 0) {
        zr_verb_await(task, &task->session->changed, ZR_STEP(ensure));
        return;
    }
    if (consumer->presence_id != id)
        status = make_name(zr_queue_of(task));
    if (status != ZR_OK)
        zr_verb_fail(task, status);
    else if (consumer->present)
        then(task);
    else
        create(task);
}

void zr_attend_ensure(struct zr_task *task, void (*next)(struct zr_task *task))
{
    zr_queue_task_of(task)->then = next;
    ensure(task);
}

/* ---- Is it there? -------------------------------------------------------------------------- */

static void checked(struct zr_task *task)
{
    struct zr_consumer *consumer = consumer_of(task);
    const char *path = task->call->request.path + strlen(task->session->namespace);
    if (task->outcome == ZR_NO_NODE && strcmp(path, consumer->presence) == 0)
        consumer->present = false;
    then(task);
}

void zr_attend_check(struct zr_task *task, void (*next)(struct zr_task *task))
{
    zr_queue_task_of(task)->then = next;
    zr_queue_read(task, ZR_OP_EXISTS, consumer_of(task)->presence, "", ZR_STEP(checked));
}

/* ---- The others ---------------------------------------------------------------------------- */

static void rank(struct zr_task *task, struct zr_names *names)
{
    struct zr_consumer *consumer = consumer_of(task);
    consumer->count = 1;
    consumer->rank = 0;
    consumer->ranked_until_us = zr_engine_now_us(task->session->engine) + FRESH_US;
    if (names != NULL)
        zr_names_sort(names);
    for (size_t i = 0; names != NULL && i < names->count; i++) {
        if (strcmp(names->at[i], strrchr(consumer->presence, '/') + 1) == 0) {
            consumer->count = names->count;
            consumer->rank = i;
        }
    }
    then(task);
}

static void listed(struct zr_task *task)
{
    rank(task, task->outcome == ZR_OK ? task->call->request.names : NULL);
}

void zr_attend_rank(struct zr_task *task, void (*next)(struct zr_task *task))
{
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_consumer *consumer = &queue->consumer;
    zr_queue_task_of(task)->then = next;
    if (zr_engine_now_us(task->session->engine) < consumer->ranked_until_us)
        next(task);
    else if (consumer->present)
        zr_queue_read(task, ZR_OP_CHILDREN, queue->znode.path, "/consumers", ZR_STEP(listed));
    else
        rank(task, NULL);
}

/* ---- The end ------------------------------------------------------------------------------- */

static void leave(struct zr_task *task);

static struct zr_queue *leaving(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_queue, consumer.farewell);
}

static void again(struct zr_task *task)
{
    struct zr_consumer *consumer = &leaving(task)->consumer;
    int64_t pause = consumer->farewell_pause_us;
    consumer->farewell_pause_us = 2 * pause < LONGEST_US ? 2 * pause : LONGEST_US;
    zr_verb_pause(task, pause, ZR_STEP(leave));
}

static void left(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (status == ZR_NO_MEMORY || status == ZR_CONNECTION_LOSS || status == ZR_SERVER_ERROR)
        again(task);
    else
        zr_task_finish(task, ZR_OK);
}

static void leave(struct zr_task *task)
{
    struct zr_consumer *consumer = &leaving(task)->consumer;
    struct zr_session *session = task->session;
    struct zr_call *call;
    if (zr_session_usable(session) != ZR_OK || session->id != consumer->presence_id) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    if (zr_call_new(session, ZR_OP_DELETE, consumer->presence, ZR_NO_DATA, &call) != ZR_OK) {
        again(task);
        return;
    }
    call->bound = true;
    call->generation = session->generation;
    zr_verb_request(task, call, true, ZR_STEP(left));
}

static void free_farewell(struct zr_task *task)
{
    struct zr_queue *queue = leaving(task);
    queue->consumer.farewell_runs = false;
    zr_object_unref(&queue->znode.object);
}

static const struct zr_task_kind kind = {
    .name = "queue:leave", .clean = leave, .free = free_farewell};

void zr_attend_leave_if_unused(struct zr_queue *queue)
{
    struct zr_consumer *consumer = &queue->consumer;
    bool used = consumer->waiting + consumer->working + consumer->claims > 0 || consumer->running;
    struct zr_session *session = queue->znode.session;
    if (!consumer->forgotten || used || consumer->farewell_runs || consumer->presence == NULL ||
        zr_engine_forked(session->engine))
        return;
    consumer->present = false;
    consumer->farewell_runs = true;
    consumer->farewell_pause_us = PAUSE_US;
    zr_object_ref(&queue->znode.object);
    consumer->farewell = (struct zr_task){.kind = NULL};
    zr_task_start_cleaning(&consumer->farewell, &kind, session);
}

void zr_attend_forget(struct zr_object *self)
{
    struct zr_queue *queue = (struct zr_queue *)self;
    queue->consumer.forgotten = true;
    zr_stock_drop(queue);
    zr_attend_leave_if_unused(queue);
}
