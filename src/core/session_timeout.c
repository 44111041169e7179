#include "core/lease.h"
#include "core/session.h"

/* What the log says about a new session's timeout. */

static void tell_other_timeout(struct zr_session *session)
{
    if (session->timeout_ms == session->asked_timeout_ms)
        return;
    zr_engine_note(session, 'I',
                   "session %016llx: the servers granted a timeout of %.3f s, not the %.3f s that "
                   "were asked for; their minSessionTimeout and maxSessionTimeout limit it",
                   (unsigned long long)session->id, session->timeout_ms / 1e3,
                   session->asked_timeout_ms / 1e3);
}

/* The timeout is short for the tick that the rule of the lease assumes. */
static void warn_of_short_lease(struct zr_session *session)
{
    int64_t timeout_us = (int64_t)session->timeout_ms * 1000;
    int64_t tick_us = zr_lease_tick_us(session->tick_us, timeout_us);
    int64_t room_us = zr_lease_room_us(session->tick_us, timeout_us);
    if (timeout_us >= 2 * tick_us)
        return;
    zr_engine_note(
        session, room_us > 0 ? 'W' : 'E',
        "session %016llx: the timeout of %.3f s is less than two ticks of %.3f s%s: %s; ask for a "
        "longer `timeout`, or set `tick` to the servers' tickTime",
        (unsigned long long)session->id, (double)timeout_us / 1e6, (double)tick_us / 1e6,
        session->tick_us > 0 ? "" : " (assumed)",
        room_us > 0 ? "holds stay valid for only a short time when the servers fall silent"
                    : "no heartbeat can prove in time that the session lives, so it is given up "
                      "again and again");
}

void zr_session_note_timeout(struct zr_session *session)
{
    tell_other_timeout(session);
    warn_of_short_lease(session);
}
