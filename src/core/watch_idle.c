#include "core/watch_parts.h"

#include "core/call.h"
#include "core/task.h"

/*
 * Watches that no task needs, but which the client and the server still keep:
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

bool zr_watch_used(const struct zr_watch *watch)
{
    return watch->call != NULL || watch->removal != NULL || watch->out > 0 ||
           watch->followers > 0 || !zr_list_empty(&watch->gone.tasks);
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
    watch->set = false;
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
        if (session->state != ZR_CONNECTED ||
            (!zr_watch_used(watch) && take_back(watch) != ZR_OK)) {
            zr_timer_start(&engine->timers, timer, now_us + IDLE_US, sweep);
            return;
        }
        zr_unlink(&watch->idle);
    }
    if (watch != NULL)
        zr_timer_start(&engine->timers, timer, due_us(watch), sweep);
}

void zr_watch_rest(struct zr_watch *watch)
{
    struct zr_session *session = watch->session;
    watch->idle_us = zr_engine_now_us(session->engine);
    zr_unlink(&watch->idle);
    zr_list_append(&session->idle_watches, &watch->idle);
    zr_timer_start(&session->engine->timers, &session->sweep, due_us(first_idle(session)), sweep);
}
