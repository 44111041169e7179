#include <errno.h>
#include <string.h>

#include "core/alloc.h"
#include "core/session_parts.h"

/*
 * The handles of a session: one for each generation.
 *
 * 1. Open a handle. If that fails, or after a loss, try again after a pause that doubles.
 * 2. Close it when its generation is over. It lingers: it tries to end the old session on the
 *    server.
 * 3. It reports that it has ended, and is freed.
 */

#define BACKOFF_FIRST_US 100000
#define BACKOFF_MAX_US 10000000

void zr_session_set_trouble(struct zr_session *session, const char *text)
{
    zr_free(session->trouble);
    session->trouble = text != NULL ? zr_copy_string(text) : NULL;
}

static void reopen_due(struct zr_timer *timer)
{
    struct zr_session *session = ZR_HOLDER(timer, struct zr_session, reopen);
    if (session->state == ZR_STATE_LOST)
        zr_session_move_to(session, ZR_CONNECTING, NULL);
    zr_session_open_handle(session);
}

void zr_session_reopen(struct zr_session *session)
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
    zr_session_set_trouble(session, why);
    zr_session_reopen(session);
}

void zr_session_open_handle(struct zr_session *session)
{
    struct zr_zk *zk = session->engine->zk;
    struct zr_zk_config config = {.hosts = session->hosts,
                                  .timeout_ms = session->asked_timeout_ms,
                                  .tick_us = session->tick_us,
                                  .auth = session->auth,
                                  .auth_count = session->auth_count,
                                  .tls = session->tls,
                                  .sasl = session->sasl,
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

void zr_session_close_handle(struct zr_session *session, int64_t linger_us)
{
    if (session->now != NULL)
        session->engine->zk->close(session->now->handle, linger_us);
    session->now = NULL;
    session->id = 0;
    session->server[0] = '\0';
}

void zr_session_handle_ended(struct zr_generation *generation)
{
    struct zr_session *session = generation->session;
    session->engine->zk->free_handle(generation->handle);
    zr_unlink(&generation->in_session);
    zr_free(generation);
    session->above->changed(session);
    zr_object_unref(&session->object);
}

void zr_session_hurry(struct zr_session *session, int64_t linger_us)
{
    const struct zr_list *all = &session->generations;
    ZR_LIST_EACH (link, all)
        session->engine->zk->close(ZR_HOLDER(link, struct zr_generation, in_session)->handle,
                                   linger_us);
}
