#include "core/dispatch.h"

#include "core/call.h"
#include "core/task.h"

/*
 * One dispatch:
 * 1. Timers that are due fire. The leases come first, so that after a pause of the process nothing
 *    is granted on a session that may be over.
 * 2. Messages are taken from the inbox and given to their calls and sessions, in order.
 * 3. Tasks that were woken run on.
 *
 * What can go wrong: there is more work than `limit` allows. The rest stays here, and the
 * descriptor is made readable again so that the host dispatches again.
 */

static void handle_message(struct zr_engine *engine, struct zr_message *message)
{
    if (message->kind == ZR_MSG_REPLY) {
        zr_call_reply((struct zr_request *)message);
        return;
    }
    struct zr_notice *notice = (struct zr_notice *)message;
    zr_session_notice(notice->owner, notice);
    engine->zk->free_notice(engine->zk, notice);
}

static bool handle_next_message(struct zr_engine *engine)
{
    if (zr_list_empty(&engine->incoming))
        engine->zk->take(engine->zk, &engine->incoming);
    struct zr_link *link = zr_list_shift(&engine->incoming);
    if (link == NULL)
        return false;
    handle_message(engine, ZR_HOLDER(link, struct zr_message, link));
    return true;
}

static bool resume_next_task(struct zr_engine *engine)
{
    struct zr_link *link = zr_list_shift(&engine->ready);
    if (link == NULL)
        return false;
    struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_ready);
    task->resume(task);
    return true;
}

int zr_engine_dispatch(struct zr_engine *engine, int limit)
{
    if (zr_engine_forked(engine))
        return 0;
    int steps = 0;
    engine->refs++;
    engine->dispatching = true;
    engine->poked = false;
    while (steps < limit && (zr_timers_fire(&engine->timers, zr_engine_now_us(engine)) ||
                             handle_next_message(engine) || resume_next_task(engine)))
        steps++;
    engine->dispatching = false;
    if (!zr_list_empty(&engine->incoming) || !zr_list_empty(&engine->ready))
        zr_engine_poke(engine);
    zr_engine_unref(engine);
    return steps;
}

struct zr_task *zr_engine_next_reported(struct zr_engine *engine)
{
    struct zr_link *link = zr_list_shift(&engine->reported);
    return link != NULL ? ZR_HOLDER(link, struct zr_task, in_report) : NULL;
}

/* ---- All sessions -------------------------------------------------------------------------- */

void zr_engine_close(struct zr_engine *engine, int64_t linger_us)
{
    ZR_LIST_EACH (link, &engine->sessions) {
        zr_session_close(ZR_HOLDER(link, struct zr_session, in_engine), linger_us);
    }
}

bool zr_engine_ended(const struct zr_engine *engine)
{
    ZR_LIST_EACH (link, &engine->sessions)
        if (!zr_session_ended(ZR_HOLDER(link, struct zr_session, in_engine)))
            return false;
    return true;
}
