#include "core/watch.h"

#include <string.h>

#include "core/alloc.h"
#include "core/call.h"
#include "core/mark.h"
#include "core/task.h"

/*
 * 1. zr_watch_gone reads the node with a watch (get, never exists: on a node that has vanished
 *    exists would leave a watch for ever), or joins those for whom that was done.
 * 2. NO_NODE, or the event DELETED: all that wait for its going are woken.
 * 3. Any other event has used the watch up: the node is read again, if anybody still waits. Is it
 *    another one (while the link was down the first was replaced), theirs is gone. Do the data say
 *    that its holder shares now, those are woken for whom that is enough; do they name its
 *    successor, those who are to step aside.
 * 4. Somebody waits for a node that is not ephemeral: no session's end will remove it, so he is
 *    told that instead of waiting for ever.
 *
 * The client keeps a watch until an event uses it up, also when nobody waits any more, and
 * registers all that it keeps in one request after a reconnect. So a path counts while somebody
 * follows it or waits, while a request is out that will leave a watch, and while there is one.
 *
 * What can go wrong: the connection is lost under the read: it is repeated. The connection is
 * lost later: the client registers its watches again by itself and reports what was missed. An
 * event is lost for want of memory: then all count as fired, also those of which nobody will know
 * whether they did.
 */

enum { ON_NODE = 1, ON_CHILDREN = 2 };

struct zr_watch {
    struct zr_node node;
    struct zr_session *session;
    struct zr_signal gone, changed;
    int64_t events; /* so far */
    int followers;
    int kinds;            /* of watches that may be kept for it: 2 when it was ever followed */
    int out;              /* requests that will leave a watch */
    unsigned kept;        /* what the client watches: ON_NODE, ON_CHILDREN */
    bool set;             /* there is a watch on the node on the server ... */
    int64_t czxid;        /* ... which was created then ... */
    bool shared;          /* ... and when it was set, the holder shared, or had named */
    int64_t successor;    /* a successor; -1: none */
    struct zr_call *call; /* the read that sets it for `gone` */
    char path[];
};

static struct zr_watch *find(const struct zr_session *session, const char *path)
{
    struct zr_node *node = zr_table_find(&session->watches, path);
    return node != NULL ? ZR_HOLDER(node, struct zr_watch, node) : NULL;
}

static size_t bytes_of(const char *path)
{
    return 4 + strlen(path);
}

/* Counts one more kind of watch for it. */
static enum zr_status widen(struct zr_watch *watch, size_t most)
{
    struct zr_session *session = watch->session;
    if (session->watched_bytes + bytes_of(watch->path) > most)
        return ZR_FULL;
    session->watched_bytes += bytes_of(watch->path);
    watch->kinds++;
    return ZR_OK;
}

static enum zr_status add(struct zr_session *session, const char *path, struct zr_watch **out)
{
    struct zr_watch *watch = zr_alloc(sizeof(*watch) + strlen(path) + 1);
    if (watch == NULL)
        return ZR_NO_MEMORY;
    strcpy(watch->path, path);
    watch->session = session;
    zr_signal_init(&watch->gone);
    zr_signal_init(&watch->changed);
    watch->successor = -1;
    if (zr_table_add(&session->watches, &watch->node, watch->path) != ZR_OK) {
        zr_free(watch);
        return ZR_NO_MEMORY;
    }
    *out = watch;
    return ZR_OK;
}

static void drop_watch(struct zr_watch *watch)
{
    zr_table_remove(&watch->session->watches, &watch->node);
    watch->session->watched_bytes -= (size_t)watch->kinds * bytes_of(watch->path);
    zr_call_free(watch->call);
    zr_free(watch);
}

static void drop_if_unused(struct zr_watch *watch)
{
    if (watch->call == NULL && watch->out == 0 && watch->kept == 0 && watch->followers == 0 &&
        zr_list_empty(&watch->gone.tasks))
        drop_watch(watch);
}

static enum zr_status find_or_add(struct zr_session *session, const char *path, int kinds,
                                  size_t most, struct zr_watch **out)
{
    enum zr_status status = ZR_OK;
    if ((*out = find(session, path)) == NULL)
        status = add(session, path, out);
    while (status == ZR_OK && (*out)->kinds < kinds)
        status = widen(*out, most);
    if (status == ZR_FULL)
        drop_if_unused(*out);
    return status;
}

/* ---- What the client keeps ----------------------------------------------------------------- */

struct zr_watch *zr_watch_sent(struct zr_session *session, const char *path)
{
    struct zr_watch *watch = find(session, path);
    if (watch != NULL)
        watch->out++;
    return watch;
}

static unsigned left_by(const struct zr_request *request)
{
    bool absent = request->op == ZR_OP_EXISTS && request->status == ZR_NO_NODE;
    if (request->status != ZR_OK && !absent)
        return 0;
    return request->op == ZR_OP_CHILDREN ? ON_CHILDREN : ON_NODE;
}

void zr_watch_answered(struct zr_watch *watch, int generation, const struct zr_request *request)
{
    if (watch == NULL)
        return;
    watch->out--;
    if (generation == watch->session->generation)
        watch->kept |= left_by(request);
    drop_if_unused(watch);
}

/* ---- Waiting until it is gone -------------------------------------------------------------- */

/* Wakes those to whom it matters what the data said. */
static void tell(struct zr_watch *watch)
{
    if (watch->shared)
        zr_signal_let_pass(&watch->gone);
    zr_signal_step_aside(&watch->gone, watch->successor);
}

/* The node that was found came after the one that it waits for. (An older one means that the event
   of its end, or the next look, is still to come.) */
static bool outlived(struct zr_task *task, const struct zr_watch *watch)
{
    if (task->awaited == 0)
        task->awaited = watch->czxid;
    return watch->czxid > task->awaited;
}

static void wake_outlived(struct zr_watch *watch)
{
    struct zr_list *tasks = &watch->gone.tasks;
    for (struct zr_link *link = tasks->head.next, *next; link != &tasks->head; link = next) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        next = link->next;
        if (outlived(task, watch))
            zr_task_wake(task, ZR_OK);
    }
}

static void looked(struct zr_call *call)
{
    struct zr_watch *watch = call->owner;
    enum zr_status outcome = call->request.status;
    if (outcome == ZR_CONNECTION_LOSS) {
        zr_call_again(call);
        return;
    }
    watch->set = outcome == ZR_OK;
    watch->czxid = call->request.stat.czxid;
    if (watch->set)
        wake_outlived(watch);
    watch->shared = zr_marked(call->request.data_reply, call->request.stat.czxid);
    watch->successor = zr_successor_in(call->request.data_reply);
    if (outcome == ZR_OK && call->request.stat.ephemeral_owner == 0)
        outcome = ZR_CONFLICT;
    zr_call_free(call);
    watch->call = NULL;
    if (outcome != ZR_OK)
        zr_signal_fire(&watch->gone, outcome == ZR_NO_NODE ? ZR_OK : outcome);
    else
        tell(watch);
    drop_if_unused(watch);
}

/* Sees to it that an event will come, if anybody waits for one. */
static enum zr_status look(struct zr_watch *watch)
{
    if (watch->set || watch->call != NULL || zr_list_empty(&watch->gone.tasks))
        return ZR_OK;
    enum zr_status status =
        zr_call_new_full(watch->session, ZR_OP_GET, watch->path, ZR_NO_DATA, &watch->call);
    if (status != ZR_OK)
        return status;
    watch->call->request.watch = true;
    zr_call_start(watch->call, looked, watch);
    return ZR_OK;
}

enum zr_status zr_watch_gone(struct zr_task *task, const char *path, size_t most)
{
    struct zr_watch *watch;
    enum zr_status status = find_or_add(task->session, path, 1, most, &watch);
    if (status != ZR_OK)
        return status;
    zr_list_append(&watch->gone.tasks, &task->in_signal);
    if (watch->set && outlived(task, watch)) {
        zr_task_wake(task, ZR_OK);
    } else {
        if (watch->set)
            tell(watch);
        status = look(watch);
    }
    if (status != ZR_OK) {
        zr_unlink(&task->in_signal);
        drop_if_unused(watch);
    }
    return status;
}

bool zr_watch_awaited(const struct zr_session *session, const char *path)
{
    const struct zr_watch *watch = find(session, path);
    return watch != NULL && !zr_list_empty(&watch->gone.tasks);
}

/* ---- Following ----------------------------------------------------------------------------- */

enum zr_status zr_watch_follow(struct zr_session *session, const char *path,
                               struct zr_watch **watch)
{
    enum zr_status status = find_or_add(session, path, 2, ZR_WATCHED_BYTES_COMMON, watch);
    if (status == ZR_OK)
        (*watch)->followers++;
    return status;
}

void zr_watch_unfollow(struct zr_watch *watch)
{
    if (watch == NULL)
        return;
    watch->followers--;
    drop_if_unused(watch);
}

int64_t zr_watch_events(const struct zr_watch *watch)
{
    return watch->events;
}

void zr_watch_await(struct zr_task *task, struct zr_watch *watch, int64_t seen)
{
    if (watch->events > seen)
        zr_task_wake(task, ZR_OK);
    else
        zr_list_append(&watch->changed.tasks, &task->in_signal);
}

/* ---- Events -------------------------------------------------------------------------------- */

static unsigned used_up_by(enum zr_event_kind kind)
{
    return kind == ZR_DELETED            ? ON_NODE | ON_CHILDREN
           : kind == ZR_CHILDREN_CHANGED ? ON_CHILDREN
                                         : ON_NODE;
}

static void fire(struct zr_watch *watch, enum zr_event_kind kind)
{
    watch->events++;
    watch->kept &= ~used_up_by(kind);
    zr_signal_fire(&watch->changed, ZR_OK);
    /* An event of the children leaves the watch on the node itself where it is. */
    if (kind != ZR_CHILDREN_CHANGED)
        watch->set = false;
    enum zr_status status = kind == ZR_DELETED ? ZR_OK : look(watch);
    if (kind == ZR_DELETED || status != ZR_OK)
        zr_signal_fire(&watch->gone, status);
    drop_if_unused(watch);
}

/* Memory was exhausted when an event came: nobody knows which one. */
static void fire_all(struct zr_session *session)
{
    const struct zr_table *all = &session->watches;
    for (size_t i = 0; i < all->size; i++)
        for (struct zr_node *node = all->buckets[i], *next; node != NULL; node = next) {
            next = node->next;
            struct zr_watch *watch = ZR_HOLDER(node, struct zr_watch, node);
            watch->kept = 0;
            fire(watch, ZR_CHANGED);
        }
}

void zr_watch_event(struct zr_session *session, const char *path, enum zr_event_kind kind)
{
    if (path == NULL) {
        fire_all(session);
        return;
    }
    struct zr_watch *watch = find(session, path);
    if (watch != NULL)
        fire(watch, kind);
}

/* The server's watches are gone; followers look again, on the next session. */
static void drop_for(struct zr_watch *watch, enum zr_status why)
{
    zr_call_free(watch->call);
    watch->call = NULL;
    watch->set = false;
    watch->kept = 0;
    watch->events++;
    zr_signal_fire(&watch->gone, why);
    zr_signal_fire(&watch->changed, ZR_OK);
    drop_if_unused(watch);
}

void zr_watches_drop(struct zr_session *session, enum zr_status why)
{
    const struct zr_table *all = &session->watches;
    for (size_t i = 0; i < all->size; i++)
        for (struct zr_node *node = all->buckets[i], *next; node != NULL; node = next) {
            next = node->next;
            drop_for(ZR_HOLDER(node, struct zr_watch, node), why);
        }
}
