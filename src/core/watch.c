#include "core/watch_parts.h"

#include <string.h>

#include "core/alloc.h"
#include "core/budget.h"
#include "core/call.h"
#include "core/task.h"

/*
 * What the client watches. It keeps a watch until an event uses it up, and registers all that it
 * keeps in one request after a reconnect. So a path counts in three cases: a task follows it or
 * waits for its end (watch_gone.c); a request that will leave a watch is in flight; the client
 * keeps a watch on it.
 *
 * A watch that no task needs is idle, and is removed after a while (watch_idle.c).
 *
 * What can go wrong: the connection is lost: the client registers its watches again by itself and
 * reports the changes that it missed. An event is lost because memory is exhausted: then every task
 * that waits looks again.
 */

struct zr_watch *zr_watch_find(const struct zr_session *session, const char *path)
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
    if (!zr_budget_take(&session->watched, session, bytes_of(watch->path), most))
        return ZR_FULL;
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
    if (zr_table_add(&session->watches, &watch->node, watch->path) != ZR_OK) {
        zr_free(watch);
        return ZR_NO_MEMORY;
    }
    *out = watch;
    return ZR_OK;
}

/* ---- Keeping ------------------------------------------------------------------------------- */

static void drop_watch(struct zr_watch *watch)
{
    zr_unlink(&watch->idle);
    zr_call_free(watch->removal);
    zr_table_remove(&watch->session->watches, &watch->node);
    zr_budget_give(&watch->session->watched, (size_t)watch->kinds * bytes_of(watch->path));
    zr_call_free(watch->call);
    zr_free(watch);
}

void zr_watch_drop_if_unused(struct zr_watch *watch)
{
    if (zr_watch_used(watch))
        return;
    if (watch->kept == 0)
        drop_watch(watch);
    else
        zr_watch_rest(watch);
}

enum zr_status zr_watch_find_or_add(struct zr_session *session, const char *path, int kinds,
                                    size_t most, struct zr_watch **out)
{
    enum zr_status status = ZR_OK;
    if ((*out = zr_watch_find(session, path)) == NULL)
        status = add(session, path, out);
    while (status == ZR_OK && (*out)->kinds < kinds)
        status = widen(*out, most);
    if (status == ZR_FULL)
        zr_watch_drop_if_unused(*out);
    return status;
}

/* ---- What the client keeps ----------------------------------------------------------------- */

struct zr_watch *zr_watch_sent(struct zr_session *session, const char *path)
{
    struct zr_watch *watch = zr_watch_find(session, path);
    if (watch != NULL)
        watch->out++;
    return watch;
}

/* If there was no memory for an answer, its request has left a watch all the same. */
static unsigned left_by(const struct zr_request *request)
{
    bool absent = request->op == ZR_OP_EXISTS && request->status == ZR_NO_NODE;
    bool unread = request->status == ZR_NO_MEMORY && request->sent;
    if (request->status != ZR_OK && !absent && !unread)
        return 0;
    return request->op == ZR_OP_CHILDREN ? ZR_ON_CHILDREN : ZR_ON_NODE;
}

void zr_watch_answered(struct zr_watch *watch, int generation, const struct zr_request *request)
{
    if (watch == NULL)
        return;
    watch->out--;
    if (generation == watch->session->generation)
        watch->kept |= left_by(request);
    zr_watch_drop_if_unused(watch);
}

/* ---- Following ----------------------------------------------------------------------------- */

enum zr_status zr_watch_follow(struct zr_session *session, const char *path, int kinds, size_t most,
                               struct zr_watch **watch)
{
    enum zr_status status = zr_watch_find_or_add(session, path, kinds, most, watch);
    if (status == ZR_OK)
        (*watch)->followers++;
    else
        *watch = NULL;
    return status;
}

void zr_watch_unfollow(struct zr_watch *watch)
{
    if (watch == NULL)
        return;
    watch->followers--;
    zr_watch_drop_if_unused(watch);
}

bool zr_watch_on_node(const struct zr_watch *watch)
{
    return (watch->kept & ZR_ON_NODE) != 0;
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
    return kind == ZR_DELETED            ? ZR_ON_NODE | ZR_ON_CHILDREN
           : kind == ZR_CHILDREN_CHANGED ? ZR_ON_CHILDREN
                                         : ZR_ON_NODE;
}

static void fire(struct zr_watch *watch, enum zr_event_kind kind, unsigned used_up)
{
    watch->events++;
    watch->kept &= ~used_up;
    zr_signal_fire(&watch->changed, ZR_OK);
    /* An event of the children leaves the watch on the node itself in place. */
    if (kind != ZR_CHILDREN_CHANGED)
        watch->set = false;
    enum zr_status status = kind == ZR_DELETED ? ZR_OK : zr_watch_look(watch);
    if (kind == ZR_DELETED || status != ZR_OK)
        zr_signal_fire(&watch->gone, status);
    zr_watch_drop_if_unused(watch);
}

/* Memory was exhausted when an event came, so its path is unknown. Which watches the client still
   keeps is found out when they are removed. */
static void fire_all(struct zr_session *session)
{
    const struct zr_table *all = &session->watches;
    for (size_t i = 0; i < all->size; i++)
        for (struct zr_node *node = all->buckets[i], *next; node != NULL; node = next) {
            next = node->next;
            struct zr_watch *watch = ZR_HOLDER(node, struct zr_watch, node);
            fire(watch, ZR_CHANGED, 0);
        }
}

void zr_watch_event(struct zr_session *session, const char *path, enum zr_event_kind kind)
{
    if (path == NULL) {
        fire_all(session);
        return;
    }
    struct zr_watch *watch = zr_watch_find(session, path);
    if (watch != NULL)
        fire(watch, kind, used_up_by(kind));
}

/* The server's watches are gone; followers look again, on the next session. */
static void drop_for(struct zr_watch *watch, enum zr_status why)
{
    zr_call_free(watch->call);
    zr_call_free(watch->removal);
    watch->call = watch->removal = NULL;
    watch->set = false;
    watch->kept = 0;
    watch->events++;
    zr_signal_fire(&watch->gone, why);
    zr_signal_fire(&watch->changed, ZR_OK);
    zr_watch_drop_if_unused(watch);
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
