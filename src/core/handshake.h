#ifndef ZR_HANDSHAKE_H
#define ZR_HANDSHAKE_H

/*
 * handshake.h: how long a server may be silent while a client connects to it, until it has answered
 * the request that proves the connection. A server that is just starting accepts a connection and
 * never answers the handshake. If a session ends while it is attached again, the server answers the
 * handshake and drops all requests. The client library waits for two thirds of the session's
 * timeout, even when the server has long been ready. The limit here is shorter. It begins anew with
 * each answer, so that a server that answers slowly but steadily is not left; an event is no
 * answer. It doubles with each attempt that is not answered, so that a slow network, or a busy
 * leader, does not keep a client out. Microseconds. Pure: it knows neither clock nor thread.
 */

#include <stdint.h>

struct zr_handshake {
    int64_t since_us; /* when the present attempt began, or its last answer came */
    int64_t limit_us; /* how long after that the next answer may take */
    int unanswered;   /* attempts in a row that were not answered */
};

/* An attempt begins now, for a session of this timeout. */
void zr_handshake_begin(struct zr_handshake *handshake, int64_t now_us, int32_t timeout_ms);

/* An answer came, but not yet the one that proves the connection. */
void zr_handshake_heard(struct zr_handshake *handshake, int64_t now_us);

/* The attempt was answered, or was not answered in time. */
void zr_handshake_answered(struct zr_handshake *handshake);
void zr_handshake_late(struct zr_handshake *handshake);

/* Until when the next answer must come. */
int64_t zr_handshake_due_us(const struct zr_handshake *handshake);

#endif
