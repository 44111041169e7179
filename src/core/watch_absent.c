#include "core/watch_absent.h"

#include "core/call.h"
#include "core/watch_parts.h"

/*
 * A watch where there is no node yet waits for the event that one was made. A server sends an event
 * only to those who may read the node (since the mend of CVE-2024-23944). If the node's ACL denies
 * that, the watch is used up in silence. So as long as someone waits:
 * 1. After AGAIN_US ask whether there is a node. That needs no right to read, and sets the watch
 *    again.
 * 2. If there is one, do as if the event had come: who waits reads the node, and learns that it may
 *    not.
 *
 * What can go wrong: there is no connection, or no memory: ask next time.
 */

#define AGAIN_US 60000000

static struct zr_watch *first_of(const struct zr_session *session)
{
    struct zr_link *first = zr_list_first(&session->absent_watches);
    return first != NULL ? ZR_HOLDER(first, struct zr_watch, absent) : NULL;
}

static bool is_awaited(const struct zr_watch *watch)
{
    return watch->followers > 0 || !zr_list_empty(&watch->present.tasks);
}

static void asked(struct zr_call *call)
{
    struct zr_watch *watch = call->owner;
    if (call->request.status == ZR_OK)
        zr_watch_event(watch->session, watch->path, ZR_CREATED);
    zr_call_free(call);
    watch->making = NULL;
    zr_watch_drop_if_unused(watch);
}

static void ask(struct zr_watch *watch)
{
    struct zr_session *session = watch->session;
    bool waits = watch->making != NULL || session->state != ZR_CONNECTED;
    if (waits || zr_call_new_full(session, ZR_OP_EXISTS, watch->path, ZR_NO_DATA, &watch->making))
        return;
    watch->making->request.watch = true;
    zr_call_start(watch->making, asked, watch);
}

static void ask_again(struct zr_timer *timer);

static void wait_for(struct zr_watch *watch)
{
    struct zr_session *session = watch->session;
    watch->asked_us = zr_engine_now_us(session->engine);
    zr_unlink(&watch->absent);
    zr_list_append(&session->absent_watches, &watch->absent);
    zr_timer_start(&session->engine->timers, &session->absent_due,
                   first_of(session)->asked_us + AGAIN_US, ask_again);
}

static void ask_again(struct zr_timer *timer)
{
    struct zr_session *session = ZR_HOLDER(timer, struct zr_session, absent_due);
    int64_t now_us = zr_engine_now_us(session->engine);
    struct zr_watch *watch;
    while ((watch = first_of(session)) != NULL && watch->asked_us + AGAIN_US <= now_us) {
        zr_unlink(&watch->absent);
        if (!is_awaited(watch))
            continue;
        wait_for(watch);
        ask(watch);
    }
    if (watch != NULL)
        zr_timer_start(&session->engine->timers, timer, watch->asked_us + AGAIN_US, ask_again);
}

/* A watch that only announces is asked for by `making`, and is not certain in any case. */
void zr_absent_answered(const struct zr_call *call)
{
    struct zr_watch *watch = call->watch;
    bool absent = call->request.op == ZR_OP_EXISTS && call->request.status == ZR_NO_NODE;
    if (watch != NULL && absent && call != watch->making &&
        call->sent_in == call->session->generation)
        wait_for(watch);
}

void zr_absent_fini(struct zr_session *session)
{
    zr_timer_stop(&session->engine->timers, &session->absent_due);
}
