#include "core/session.h"

#include <stdio.h>
#include <string.h>

#include "core/session_parts.h"

/*
 * The life of a session:
 * 1. zr_session_open (session_open.c) opens a handle: CONNECTING.
 * 2. CONNECTED: queued requests are sent.
 * 3. The connection breaks: SUSPENDED. Requests wait; nothing is revoked. Back to 2.
 * 4. The server says that the session is over, or the lease runs out: LOST. All that was bound to
 *    it ends (session_above.c), the generation grows, and after a pause a new handle is opened: 1.
 * 5. zr_session_close: CLOSED, for good.
 *
 * What can go wrong: the process is paused, and all of the above is noticed late. The dispatch
 * checks the lease's timer before any message, so nothing is granted on a session that may be over.
 * A handle is given up while no server can be reached: it is closed with a linger, in which it
 * tries to end the old session, so that the old ephemerals block our new session no longer than
 * necessary.
 */

#define SUSPENDED_LOOK_US 1000000
#define TRY_US 1000000

/* ---- The end of a generation --------------------------------------------------------------- */

static void end_generation(struct zr_session *session, int64_t linger_us, enum zr_status why)
{
    zr_timer_stop(&session->engine->timers, &session->lease);
    session->generation++;
    zr_session_close_handle(session, linger_us);
    session->above->over(session, why);
}

static void lost(struct zr_session *session, const char *why)
{
    int64_t linger_us = (int64_t)session->timeout_ms * 1000;
    session->proof_us = zr_session_proof_us(session);
    if (!zr_session_move_to(session, ZR_STATE_LOST, why))
        return;
    end_generation(session, linger_us, ZR_LOST);
    zr_session_reopen(session);
}

static void close_for(struct zr_session *session, int64_t linger_us, enum zr_status reason)
{
    session->proof_us = zr_session_proof_us(session);
    if (!zr_session_move_to(session, ZR_STATE_CLOSED, NULL))
        return;
    session->reason = reason;
    zr_session_forget_secrets(session);
    zr_timer_stop(&session->engine->timers, &session->reopen);
    end_generation(session, linger_us, reason);
}

void zr_session_close(struct zr_session *session, int64_t linger_us)
{
    if (zr_engine_forked(session->engine))
        return;
    zr_object_ref(&session->object);
    close_for(session, linger_us, ZR_CLOSED);
    zr_session_hurry(session, linger_us);
    zr_object_unref(&session->object);
}

/* ---- The lease ----------------------------------------------------------------------------- */

static void lease_due(struct zr_timer *timer);

static bool lease_is_over(const struct zr_session *session)
{
    struct zr_engine *engine = session->engine;
    return engine->zk->lease_us(session->now->handle) <= zr_engine_now_us(engine);
}

/* Sets the timer to the end of the lease as it is now. Without a connection, an attempt to connect
   may shorten the lease. */
static void watch_lease(struct zr_session *session)
{
    struct zr_engine *engine = session->engine;
    int64_t at_us = engine->zk->lease_us(session->now->handle);
    int64_t soon_us = zr_engine_now_us(engine) + SUSPENDED_LOOK_US;
    if (session->state != ZR_CONNECTED && soon_us < at_us)
        at_us = soon_us;
    zr_timer_start(&engine->timers, &session->lease, at_us, lease_due);
}

static void lease_ran_out(struct zr_session *session)
{
    char why[512];
    if (session->state == ZR_CONNECTED)
        snprintf(why, sizeof(why), "the lease ran out; no answer came from %s in time",
                 session->server);
    else
        snprintf(why, sizeof(why), "the lease ran out without a connection (%s)",
                 session->trouble != NULL ? session->trouble : "no server answered");
    lost(session, why);
}

static void lease_due(struct zr_timer *timer)
{
    struct zr_session *session = ZR_HOLDER(timer, struct zr_session, lease);
    if (!lease_is_over(session))
        watch_lease(session);
    else
        lease_ran_out(session);
}

int64_t zr_session_left_us(const struct zr_session *session, int generation)
{
    struct zr_engine *engine = session->engine;
    if (session->generation != generation || session->now == NULL ||
        zr_session_usable(session) != ZR_OK)
        return 0;
    int64_t left_us = engine->zk->lease_us(session->now->handle) - zr_engine_now_us(engine);
    return left_us > 0 ? left_us : 0;
}

bool zr_session_valid(const struct zr_session *session, int generation)
{
    return zr_session_left_us(session, generation) > 0;
}

enum zr_status zr_session_standing(const struct zr_session *session, int generation)
{
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    return zr_session_valid(session, generation) ? ZR_OK : ZR_LOST;
}

/* ---- Messages ------------------------------------------------------------------------------ */

static void connected(struct zr_session *session, const struct zr_notice *notice)
{
    bool fresh = session->id == 0;
    if (!fresh && session->id != notice->session_id) {
        lost(session, "the server has begun another session");
        return;
    }
    /* The connection came too late: nothing extends a lease that is over. */
    if (lease_is_over(session)) {
        lease_ran_out(session);
        return;
    }
    session->id = notice->session_id;
    session->timeout_ms = notice->timeout_ms;
    snprintf(session->server, sizeof(session->server), "%s",
             notice->text != NULL ? notice->text : "");
    session->backoff_us = 0;
    zr_session_set_trouble(session, NULL);
    zr_session_move_to(session, ZR_CONNECTED, NULL);
    if (fresh)
        zr_session_note_timeout(session);
    session->connections++;
    watch_lease(session);
    session->above->connected(session);
}

static void suspended(struct zr_session *session)
{
    session->server[0] = '\0';
    zr_session_move_to(session, ZR_SUSPENDED, NULL);
    session->above->suspended(session);
    watch_lease(session);
}

static void noted(struct zr_session *session, const struct zr_notice *notice)
{
    if (!notice->repeated)
        zr_engine_note(session, notice->level, "%s", notice->text);
    bool says_why = strcmp(notice->text, ZR_NOTE_RESTING) != 0;
    if (notice->level != 'I' && says_why)
        zr_session_set_trouble(session, notice->text);
}

/* Notices that matter only for the present handle. */
static void current_notice(struct zr_session *session, const struct zr_notice *notice)
{
    zr_session_note_proof(session, notice);
    switch (notice->message.kind) {
    case ZR_MSG_CONNECTED:
        connected(session, notice);
        break;
    case ZR_MSG_SUSPENDED:
        suspended(session);
        break;
    case ZR_MSG_EXPIRED:
        lost(session, "the server has ended it");
        break;
    case ZR_MSG_AUTH_FAILED:
        close_for(session, 0, ZR_AUTH_FAILED);
        break;
    case ZR_MSG_EVENT:
        session->above->event(session, notice->text, notice->event);
        break;
    case ZR_MSG_NOTE:
        noted(session, notice);
        break;
    case ZR_MSG_REPLY:
    case ZR_MSG_ENDED:
        break;
    }
}

void zr_session_notice(struct zr_generation *generation, struct zr_notice *notice)
{
    struct zr_session *session = generation->session;
    zr_object_ref(&session->object);
    if (notice->message.kind == ZR_MSG_ENDED)
        zr_session_handle_ended(generation);
    else if (generation == session->now)
        current_notice(session, notice);
    zr_object_unref(&session->object);
}

/* ---- Use and questions ---------------------------------------------------------------------- */

void zr_session_use(struct zr_session *session)
{
    session->users++;
    zr_object_ref(&session->object);
}

void zr_session_unuse(struct zr_session *session)
{
    if (--session->users == 0 && session->state != ZR_STATE_CLOSED)
        zr_session_close(session, ZR_LINGER_US);
    zr_object_unref(&session->object);
}

bool zr_session_ended(const struct zr_session *session)
{
    return session->state == ZR_STATE_CLOSED && zr_list_empty(&session->generations);
}

enum zr_status zr_session_usable(const struct zr_session *session)
{
    if (zr_engine_forked(session->engine))
        return ZR_FORKED;
    return session->state == ZR_STATE_CLOSED ? session->reason : ZR_OK;
}

int64_t zr_session_patience_us(const struct zr_session *session)
{
    if (session->request_timeout_us >= 0)
        return session->request_timeout_us;
    return (int64_t)session->timeout_ms * 1000;
}

int64_t zr_session_limit_us(const struct zr_session *session, const struct zr_arg *limit)
{
    return limit->given ? limit->integer : zr_session_patience_us(session);
}

int64_t zr_session_try_us(const struct zr_session *session)
{
    int64_t patience_us = zr_session_patience_us(session);
    return session->request_timeout_us >= 0 || patience_us < TRY_US ? patience_us : TRY_US;
}
