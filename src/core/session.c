#include "core/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/lease.h"

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
#define BACKOFF_FIRST_US 100000
#define BACKOFF_MAX_US 10000000
#define TRY_US 1000000

/* Which state may follow which. */
static const bool legal[][5] = {
    [ZR_CONNECTING] = {false, true, false, true, true},
    [ZR_CONNECTED] = {false, false, true, true, true},
    [ZR_SUSPENDED] = {false, true, false, true, true},
    [ZR_STATE_LOST] = {true, false, false, false, true},
    [ZR_STATE_CLOSED] = {false, false, false, false, false},
};

const char *zr_state_word(enum zr_state state)
{
    static const char *const words[] = {"connecting", "connected", "suspended", "lost", "closed"};
    return words[state];
}

/* The one place where the state changes. False: the change is not legal, and nothing happened. */
static bool move_to(struct zr_session *session, enum zr_state state)
{
    if (!legal[session->state][state])
        return false;
    char id[20] = "(new)";
    if (session->id != 0)
        snprintf(id, sizeof(id), "%016llx", (unsigned long long)session->id);
    zr_engine_note(session, state == ZR_STATE_LOST ? 'W' : 'I', "session %s: %s > %s", id,
                   zr_state_word(session->state), zr_state_word(state));
    session->state = state;
    session->states[session->state_count++ % ZR_STATES_KEPT] = state;
    session->above->changed(session);
    return true;
}

static void set_trouble(struct zr_session *session, const char *text)
{
    zr_free(session->trouble);
    session->trouble = text != NULL ? zr_copy_string(text) : NULL;
}

/* ---- Handles ------------------------------------------------------------------------------- */

static void reopen_due(struct zr_timer *timer)
{
    struct zr_session *session = ZR_HOLDER(timer, struct zr_session, reopen);
    if (session->state == ZR_STATE_LOST)
        move_to(session, ZR_CONNECTING);
    zr_session_open_handle(session);
}

/* A new handle after a pause that doubles; the first one comes at once. */
static void schedule_reopen(struct zr_session *session)
{
    struct zr_engine *engine = session->engine;
    int64_t pause = session->backoff_us;
    if (pause > 0)
        pause = pause / 2 + (int64_t)zr_engine_random(engine, (uint64_t)pause);
    session->backoff_us = pause == 0                                 ? BACKOFF_FIRST_US
                          : session->backoff_us < BACKOFF_MAX_US / 2 ? session->backoff_us * 2
                                                                     : BACKOFF_MAX_US;
    zr_timer_start(&engine->timers, &session->reopen, zr_engine_now_us(engine) + pause, reopen_due);
}

/* Opening needs memory, and, the first time in a process, descriptors. */
static void cannot_open(struct zr_session *session, int error)
{
    bool few = error == EMFILE || error == ENFILE;
    const char *why = few ? "no free file descriptor; see ulimit -n" : zr_status_text(ZR_NO_MEMORY);
    if (session->trouble == NULL || strcmp(session->trouble, why) != 0)
        zr_engine_note(session, 'W', "cannot open a connection: %s; the session keeps trying", why);
    set_trouble(session, why);
    schedule_reopen(session);
}

void zr_session_open_handle(struct zr_session *session)
{
    struct zr_zk *zk = session->engine->zk;
    struct zr_zk_config config = {.hosts = session->hosts,
                                  .timeout_ms = session->asked_timeout_ms,
                                  .tick_us = session->tick_us,
                                  .auth = session->auth,
                                  .auth_count = session->auth_count,
                                  .write_heartbeat = session->strict,
                                  .guardian = session->guardian};
    struct zr_generation *generation = zr_alloc(sizeof(*generation));
    errno = 0;
    if (generation == NULL || zk->open(zk, &config, generation, &generation->handle) != ZR_OK) {
        int error = errno;
        zr_free(generation);
        cannot_open(session, error);
        return;
    }
    generation->session = session;
    zr_object_ref(&session->object);
    session->now = generation;
    zr_list_append(&session->generations, &generation->in_session);
}

static void close_handle(struct zr_session *session, int64_t linger_us)
{
    if (session->now != NULL)
        session->engine->zk->close(session->now->handle, linger_us);
    session->now = NULL;
    session->id = 0;
    session->server[0] = '\0';
}

static void handle_ended(struct zr_generation *generation)
{
    struct zr_session *session = generation->session;
    session->engine->zk->free_handle(generation->handle);
    zr_unlink(&generation->in_session);
    zr_free(generation);
    session->above->changed(session);
    zr_object_unref(&session->object);
}

/* ---- The end of a generation --------------------------------------------------------------- */

static void end_generation(struct zr_session *session, int64_t linger_us, enum zr_status why)
{
    zr_timer_stop(&session->engine->timers, &session->lease);
    session->generation++;
    close_handle(session, linger_us);
    session->above->over(session, why);
}

static void lost(struct zr_session *session)
{
    int64_t linger_us = (int64_t)session->timeout_ms * 1000;
    if (!move_to(session, ZR_STATE_LOST))
        return;
    end_generation(session, linger_us, ZR_LOST);
    schedule_reopen(session);
}

static void close_for(struct zr_session *session, int64_t linger_us, enum zr_status reason)
{
    if (!move_to(session, ZR_STATE_CLOSED))
        return;
    session->reason = reason;
    zr_timer_stop(&session->engine->timers, &session->reopen);
    end_generation(session, linger_us, reason);
}

/* Handles that were given up before linger no longer than this. */
static void hurry(struct zr_session *session, int64_t linger_us)
{
    const struct zr_list *all = &session->generations;
    ZR_LIST_EACH (link, all)
        session->engine->zk->close(ZR_HOLDER(link, struct zr_generation, in_session)->handle,
                                   linger_us);
}

void zr_session_close(struct zr_session *session, int64_t linger_us)
{
    if (zr_engine_forked(session->engine))
        return;
    zr_object_ref(&session->object);
    close_for(session, linger_us, ZR_CLOSED);
    hurry(session, linger_us);
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

static void lease_due(struct zr_timer *timer)
{
    struct zr_session *session = ZR_HOLDER(timer, struct zr_session, lease);
    if (!lease_is_over(session))
        watch_lease(session);
    else
        lost(session);
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

/* ---- Messages ------------------------------------------------------------------------------ */

static void connected(struct zr_session *session, const struct zr_notice *notice)
{
    bool fresh = session->id == 0;
    /* It is another session, and no message said that the old one expired; or nothing extends the
       lease. */
    if ((!fresh && session->id != notice->session_id) || lease_is_over(session)) {
        lost(session);
        return;
    }
    session->id = notice->session_id;
    session->timeout_ms = notice->timeout_ms;
    snprintf(session->server, sizeof(session->server), "%s",
             notice->text != NULL ? notice->text : "");
    session->backoff_us = 0;
    set_trouble(session, NULL);
    move_to(session, ZR_CONNECTED);
    if (fresh)
        zr_session_note_timeout(session);
    session->connections++;
    watch_lease(session);
    session->above->connected(session);
}

static void suspended(struct zr_session *session)
{
    session->server[0] = '\0';
    move_to(session, ZR_SUSPENDED);
    session->above->suspended(session);
    watch_lease(session);
}

static void noted(struct zr_session *session, const struct zr_notice *notice)
{
    if (!notice->repeated)
        zr_engine_note(session, notice->level, "%s", notice->text);
    bool says_why = strcmp(notice->text, ZR_NOTE_RESTING) != 0;
    if (session->state != ZR_CONNECTED && notice->level != 'I' && says_why)
        set_trouble(session, notice->text);
}

/* Notices that matter only for the present handle. */
static void current_notice(struct zr_session *session, const struct zr_notice *notice)
{
    switch (notice->message.kind) {
    case ZR_MSG_CONNECTED:
        connected(session, notice);
        break;
    case ZR_MSG_SUSPENDED:
        suspended(session);
        break;
    case ZR_MSG_EXPIRED:
        lost(session);
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
        handle_ended(generation);
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
