#include "core/watch_parts.h"

#include <string.h>

#include "core/alloc.h"
#include "core/budget.h"
#include "core/call.h"

/*
 * What the client watches. It keeps a watch until an event uses it up, and registers all that it
 * keeps in one request after a reconnect. So a path counts in three cases: a task follows it
 * (watch_follow.c) or waits for something there (watch_gone.c, watch_presence.c); a request that
 * will leave a watch is in flight; the client keeps a watch on it.
 *
 * A watch that no task needs, but which the client and the server still keep:
 * 1. The watch is idle. The next task that looks at the path uses it, at no cost.
 * 2. After IDLE_US it is removed: one request removes it on the server and in the client. Once half
 *    of the budget is used, that is done at once.
 * 3. Requests are answered in order, so a task that comes meanwhile leaves a new watch behind that
 *    request.
 *
 * What can go wrong: the connection is lost: the client has registered the watch again, and it is
 * idle again. The server has no watch where the client keeps one (it may drop the watch on a znode
 * that this session may not read): the path counts until it is used again, or the session ends.
 */

#define IDLE_US 1000000

struct zr_watch *zr_watch_find(const struct zr_session *session, const char *path)
{
    struct zr_node *node = zr_table_find(&session->watches, path);
    return node != NULL ? ZR_HOLDER(node, struct zr_watch, node) : NULL;
}

static size_t bytes_of(const char *path)
{
    return 4 + strlen(path);
}

/* ---- Removing ------------------------------------------------------------------------------ */

/* True if a task needs it, or a request for it is in flight. */
static bool is_used(const struct zr_watch *watch)
{
    return watch->call != NULL || watch->making != NULL || watch->removal != NULL ||
           watch->out > 0 || watch->followers > 0 || !zr_list_empty(&watch->gone.tasks) ||
           watch->present_read != NULL || !zr_list_empty(&watch->present.tasks);
}

static int64_t due_us(const struct zr_watch *watch)
{
    bool crowded = watch->session->watched.used > ZR_WATCHED_BYTES_COMMON / 2;
    return watch->idle_us + (crowded ? 0 : IDLE_US);
}

static struct zr_watch *first_idle(const struct zr_session *session)
{
    struct zr_link *first = zr_list_first(&session->idle_watches);
    return first != NULL ? ZR_HOLDER(first, struct zr_watch, idle) : NULL;
}

static void taken_back(struct zr_call *call)
{
    struct zr_watch *watch = call->owner;
    enum zr_status status = call->request.status;
    bool none_kept = status == ZR_SERVER_ERROR && !call->request.sent;
    watch->removal = NULL;
    zr_call_free(call);
    if (status == ZR_OK || none_kept)
        watch->kept = 0;
    if (status != ZR_SERVER_ERROR || watch->kept == 0)
        zr_watch_drop_if_unused(watch);
}

static enum zr_status take_back(struct zr_watch *watch)
{
    enum zr_status status =
        zr_call_new_full(watch->session, ZR_OP_UNWATCH, watch->path, ZR_NO_DATA, &watch->removal);
    if (status != ZR_OK)
        return status;
    watch->set = watch->present_set = false;
    zr_call_start(watch->removal, taken_back, watch);
    return ZR_OK;
}

/* Without a connection nothing is sent: the room in the queue is for the user's requests. */
static void sweep(struct zr_timer *timer)
{
    struct zr_session *session = ZR_HOLDER(timer, struct zr_session, sweep);
    struct zr_engine *engine = session->engine;
    int64_t now_us = zr_engine_now_us(engine);
    struct zr_watch *watch;
    while ((watch = first_idle(session)) != NULL && due_us(watch) <= now_us) {
        if (session->state != ZR_CONNECTED || (!is_used(watch) && take_back(watch) != ZR_OK)) {
            zr_timer_start(&engine->timers, timer, now_us + IDLE_US, sweep);
            return;
        }
        zr_unlink(&watch->idle);
    }
    if (watch != NULL)
        zr_timer_start(&engine->timers, timer, due_us(watch), sweep);
}

static void rest(struct zr_watch *watch)
{
    struct zr_session *session = watch->session;
    watch->idle_us = zr_engine_now_us(session->engine);
    zr_unlink(&watch->idle);
    zr_list_append(&session->idle_watches, &watch->idle);
    zr_timer_start(&session->engine->timers, &session->sweep, due_us(first_idle(session)), sweep);
}

static void drop_watch(struct zr_watch *watch)
{
    zr_unlink(&watch->idle);
    zr_unlink(&watch->absent);
    zr_call_free(watch->removal);
    zr_table_remove(&watch->session->watches, &watch->node);
    zr_budget_give(&watch->session->watched, (size_t)watch->kinds * bytes_of(watch->path));
    zr_call_free(watch->call);
    zr_call_free(watch->making);
    zr_call_free(watch->present_read);
    zr_free(watch);
}

void zr_watch_drop_if_unused(struct zr_watch *watch)
{
    if (is_used(watch))
        return;
    if (watch->kept == 0)
        drop_watch(watch);
    else
        rest(watch);
}

/* ---- Adding -------------------------------------------------------------------------------- */

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
    zr_signal_init(&watch->present);
    zr_list_init(&watch->joined);
    if (zr_table_add(&session->watches, &watch->node, watch->path) != ZR_OK) {
        zr_free(watch);
        return ZR_NO_MEMORY;
    }
    *out = watch;
    return ZR_OK;
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
