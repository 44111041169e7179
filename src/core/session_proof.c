#include "core/session_parts.h"

/*
 * Up to when the session's events are known.
 *
 * A server answers the requests of a connection in order, and sends an event before the answers to
 * what was asked after it. So an answer to a heartbeat proves that all events came that the server
 * had sent when the heartbeat arrived there. They are in the inbox before the proof can be seen.
 *
 * What can go wrong: events, or the end of the connection, wait in the inbox, because the host is
 * busy. Each notice carries the proof that there was when it came, so the first one that waits
 * tells how far the host is.
 */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void zr_session_note_proof(struct zr_session *session, const struct zr_notice *notice)
{
    session->proof_us = later(session->proof_us, notice->proof_us);
}

/* Taking silences the descriptor, so the host is told again that there is work. */
static void look(struct zr_engine *engine)
{
    engine->zk->take(engine->zk, &engine->incoming);
    if (!engine->dispatching && (engine->poked || !zr_list_empty(&engine->incoming))) {
        engine->poked = true;
        engine->zk->wake(engine->zk);
    }
}

/* gives: the first notice that waits for this generation, or null. */
static const struct zr_notice *first_waiting(const struct zr_generation *generation)
{
    const struct zr_list *incoming = &generation->session->engine->incoming;
    const struct zr_link *link = incoming->head.next;
    for (; link != &incoming->head; link = link->next) {
        const struct zr_message *message = ZR_HOLDER(link, struct zr_message, link);
        const struct zr_notice *notice = (const struct zr_notice *)message;
        if (message->kind != ZR_MSG_REPLY && notice->owner == generation)
            return notice;
    }
    return NULL;
}

bool zr_session_has_waiting(struct zr_session *session)
{
    struct zr_engine *engine = session->engine;
    if (session->state != ZR_CONNECTED || zr_engine_forked(engine))
        return false;
    look(engine);
    return first_waiting(session->now) != NULL;
}

int64_t zr_session_proof_us(struct zr_session *session)
{
    struct zr_engine *engine = session->engine;
    if (session->state != ZR_CONNECTED || zr_engine_forked(engine))
        return session->proof_us;
    int64_t proof_us = engine->zk->proof_us(session->now->handle);
    look(engine);
    const struct zr_notice *waiting = first_waiting(session->now);
    return later(session->proof_us, waiting != NULL ? waiting->proof_us : proof_us);
}
