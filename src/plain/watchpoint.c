#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "plain/watchpoint.h"

/*
 * session:watch(path): reports every kind of change at one path. A watch of ZooKeeper fires once
 * and does not say what has changed; this one stays, after reconnects and in a new session too.
 *
 * 1. Follow the events at the path first, so that none is missed. Then look: exists, with a watch;
 *    if the node exists, also its children, with a watch.
 * 2. Each difference from the last look is kept for the waiters: created, changed, deleted,
 *    children.
 * 3. Wait for an event of any kind that came after the answer (the answer is younger than earlier
 *    events), and look again.
 *
 * session:watch_znode(path) (for our own Lua files): for a znode whose name never comes back. It
 * looks by get, which leaves no watch if the znode is gone, and it does not look at children. It
 * ends when the znode is gone: `deleted` is reported once, and then every wait fails with
 * ZR_NO_NODE.
 *
 * What can go wrong: if there are several changes between two looks, each kind is reported once, a
 * deletion before the creation that followed it. If a node is created and deleted between two
 * looks, the owner of the watch may have seen it, and may now wait for its end: so `deleted` is
 * reported if two looks in a row find nothing. For the same reason the first look is reported if it
 * had to be repeated. Each change of the children reads the whole list: do not use a watch for
 * directories with a hundred thousand names.
 */

static void look(struct zr_task *task);

static struct zr_watchpoint *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_watchpoint, task);
}

/* ---- Looking ------------------------------------------------------------------------------- */

static void note(struct zr_watchpoint *point, enum zr_news news)
{
    for (int i = 0; i < point->count; i++)
        if (point->queue[i] == news)
            return;
    point->queue[point->count++] = news;
    zr_signal_fire(&point->news, ZR_OK);
}

/* Compares with the last look. */
static void compare(struct zr_watchpoint *point, const struct zr_stat *now)
{
    const struct zr_stat *seen = &point->seen;
    bool other = now->czxid != seen->czxid;
    if (point->primed && other && seen->czxid != 0)
        note(point, ZR_NEWS_DELETED);
    if (point->primed && other && now->czxid != 0)
        note(point, ZR_NEWS_CREATED);
    if (point->primed && !other && now->mzxid != seen->mzxid)
        note(point, ZR_NEWS_CHANGED);
    if (point->primed && !other && now->pzxid != seen->pzxid)
        note(point, ZR_NEWS_CHILDREN);
    if (point->primed && !other && now->czxid == 0)
        note(point, ZR_NEWS_DELETED);
    if (!point->primed && point->missed)
        note(point, now->czxid != 0 ? ZR_NEWS_CREATED : ZR_NEWS_DELETED);
    point->seen = *now;
    point->primed = true;
}

static void again(struct zr_task *task)
{
    of(task)->missed = true;
    zr_verb_pause(task, 100000, ZR_STEP(look));
}

static void watch(struct zr_task *task)
{
    struct zr_watchpoint *point = of(task);
    zr_verb_await_change(task, point->watch, point->events, ZR_STEP(look));
}

static void saw_children(struct zr_task *task)
{
    if (task->outcome == ZR_OK) {
        compare(of(task), &task->call->request.stat);
        watch(task);
    } else if (task->outcome == ZR_NO_NODE) {
        look(task);
    } else if (task->outcome == ZR_NO_AUTH || task->outcome == ZR_TOO_LARGE) {
        zr_task_finish(task, task->outcome);
    } else {
        again(task);
    }
}

static void ask(struct zr_task *task, enum zr_op op, struct zr_next next)
{
    struct zr_call *call;
    if (zr_call_new(task->session, op, of(task)->path, ZR_NO_DATA, &call) != ZR_OK) {
        again(task);
        return;
    }
    call->request.watch = true;
    zr_verb_request(task, call, true, next);
}

/* The answer is younger than all events so far, unless its session is over by now. */
static void note_age(struct zr_watchpoint *point)
{
    if (point->generation == point->session->generation)
        point->events = zr_watch_events(point->watch);
}

/* Of a unique name. */
static void saw_unique(struct zr_task *task)
{
    struct zr_watchpoint *point = of(task);
    if (task->outcome == ZR_OK) {
        note_age(point);
        compare(point, &task->call->request.stat);
        watch(task);
    } else if (task->outcome == ZR_NO_NODE) {
        note(point, ZR_NEWS_DELETED);
        zr_task_finish(task, ZR_NO_NODE);
    } else if (task->outcome == ZR_NO_AUTH || task->outcome == ZR_TOO_LARGE) {
        zr_task_finish(task, task->outcome);
    } else {
        again(task);
    }
}

static void saw(struct zr_task *task)
{
    static const struct zr_stat nothing;
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        note_age(of(task));
    if (task->outcome == ZR_OK) {
        compare(of(task), &task->call->request.stat);
        ask(task, ZR_OP_CHILDREN, ZR_STEP(saw_children));
    } else if (task->outcome == ZR_NO_NODE) {
        compare(of(task), &nothing);
        watch(task);
    } else {
        again(task);
    }
}

static void look(struct zr_task *task)
{
    struct zr_watchpoint *point = of(task);
    point->generation = point->session->generation;
    point->events = zr_watch_events(point->watch);
    if (point->unique)
        ask(task, ZR_OP_GET, ZR_STEP(saw_unique));
    else
        ask(task, ZR_OP_EXISTS, ZR_STEP(saw));
}

/* It was closed, or it cannot continue: for instance, its children may not be read. */
static void stopped(struct zr_task *task)
{
    struct zr_watchpoint *point = of(task);
    point->looking = false;
    point->ended = task->status;
    zr_watch_unfollow(point->watch);
    point->watch = NULL;
    zr_signal_fire(&point->news, ZR_OK);
    zr_object_unref(&point->object);
}

static const struct zr_task_kind look_kind = {.name = "watch", .free = stopped};

/* ---- The class ----------------------------------------------------------------------------- */

static void close_point(struct zr_object *self)
{
    struct zr_watchpoint *point = (struct zr_watchpoint *)self;
    if (point->closed || zr_engine_forked(point->session->engine))
        return;
    point->closed = true;
    zr_signal_fire(&point->news, ZR_OK);
    if (point->looking)
        zr_task_interrupt(&point->task, ZR_CANCELED);
}

static enum zr_status call_close(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    (void)args;
    close_point(self);
    sink->boolean(sink, NULL, true);
    return ZR_OK;
}

static void free_point(struct zr_object *self)
{
    struct zr_watchpoint *point = (struct zr_watchpoint *)self;
    struct zr_session *session = point->session;
    zr_free(point->path);
    zr_free(point->full);
    zr_free(point);
    zr_session_unuse(session);
}

static const struct zr_method methods[] = {
    {.name = "wait", .args = "t?", .start = zr_watchpoint_wait},
    {.name = "close", .args = "", .call = call_close},
    {.name = NULL},
};

const struct zr_class zr_watch_class = {"watch", methods, NULL, close_point, free_point};

static enum zr_status make_point(struct zr_session *session, struct zr_args *args, bool unique,
                                 struct zr_object **object)
{
    const char *path = args->at[0].bytes.at;
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    struct zr_watchpoint *point = zr_alloc(sizeof(*point));
    if (point == NULL)
        return ZR_NO_MEMORY;
    point->object = (struct zr_object){&zr_watch_class, 1};
    point->session = session;
    point->unique = unique;
    zr_session_use(session);
    zr_signal_init(&point->news);
    point->path = zr_copy_string(path);
    point->full = zr_path_join(session->namespace, path);
    *object = &point->object;
    status = point->path != NULL && point->full != NULL ? ZR_OK : ZR_NO_MEMORY;
    if (status == ZR_OK)
        status = zr_watch_follow(session, point->full, unique ? 1 : 2, ZR_WATCHED_BYTES_COMMON,
                                 &point->watch);
    if (status != ZR_OK) {
        zr_object_unref(*object);
        return status;
    }
    point->looking = true;
    zr_object_ref(*object);
    zr_task_start(&point->task, &look_kind, session, point->path, -1, ZR_STEP(look));
    zr_task_detach(&point->task);
    return ZR_OK;
}

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    return make_point(session, args, false, object);
}

static enum zr_status make_unique(struct zr_session *session, struct zr_args *args,
                                  struct zr_object **object)
{
    return make_point(session, args, true, object);
}

const struct zr_recipe zr_watch_recipe = {.name = "watch", .args = "p", .make = make};
const struct zr_recipe zr_watch_znode_recipe = {
    .name = "watch_znode", .args = "p", .inner = true, .make = make_unique};
