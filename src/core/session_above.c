#include "core/session_above.h"

#include "core/call.h"
#include "core/ephemerals.h"
#include "core/listing.h"
#include "core/strangers.h"
#include "core/task.h"
#include "core/watch.h"
#include "core/watch_absent.h"

/*
 * What the layers above a session do when it tells them something.
 *
 * When a generation ends, these end with it: 1. What is tied to it: holds. 2. Tasks that own
 * something in it, or wait for something there. 3. What tasks share: listings and watches. 4. The
 * requests that wait for a connection and may not be sent in a later one.
 */

static void changed(struct zr_session *session)
{
    zr_signal_fire(&session->changed, ZR_OK);
}

static void event(struct zr_session *session, const char *path, enum zr_event_kind kind)
{
    if (kind == ZR_DELETED && path != NULL)
        zr_ephemerals_gone(session, path);
    zr_strangers_doubt(session, path);
    zr_watch_event(session, path, kind);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static void sent(struct zr_call *call)
{
    call->watch = zr_watch_sent(call->session, call->request.path);
}

static void answered(struct zr_call *call)
{
    zr_ephemerals_answered(call);
    zr_absent_answered(call);
    zr_watch_answered(call->watch, call->sent_in, &call->request);
}

static void freed(struct zr_call *call)
{
    zr_ephemerals_give(call->session, call->reserved);
}

/* ---- The end of a generation --------------------------------------------------------------- */

static void end_ties(struct zr_session *session, enum zr_status why)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&session->ties)) != NULL) {
        struct zr_tie *tie = ZR_HOLDER(link, struct zr_tie, link);
        tie->cut(tie, why);
    }
}

static bool ends(const struct zr_session *session, const struct zr_task *task)
{
    return (session->state == ZR_STATE_CLOSED || task->kind->bound) && !task->kind->outlives;
}

static void end_tasks(struct zr_session *session, enum zr_status why)
{
    struct zr_list tasks;
    zr_list_init(&tasks);
    zr_list_move(&tasks, &session->tasks);
    struct zr_link *link;
    while ((link = zr_list_shift(&tasks)) != NULL) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_session);
        zr_list_append(&session->tasks, link);
        if (ends(session, task))
            zr_task_session_over(task, why);
    }
}

static void over(struct zr_session *session, enum zr_status why)
{
    end_ties(session, why);
    end_tasks(session, why);
    zr_listings_drop(session, why);
    zr_watches_drop(session, why);
    zr_strangers_doubt(session, NULL);
    zr_ephemerals_drop(session);
    zr_call_give_back_stale(session);
    /* Requests of the old handle that are still in flight do not count against the new one. */
    session->in_flight = 0;
    session->out_bytes = 0;
}

const struct zr_above zr_session_above = {.changed = changed,
                                          .connected = zr_call_flush,
                                          .suspended = zr_task_end_tries,
                                          .over = over,
                                          .event = event,
                                          .sent = sent,
                                          .answered = answered,
                                          .freed = freed,
                                          .left = zr_watch_leave};
