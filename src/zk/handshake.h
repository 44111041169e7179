#ifndef ZR_HANDSHAKE_H
#define ZR_HANDSHAKE_H

/*
 * handshake.h: how long an attempt to connect may take, until the request that proves the
 * connection is answered. A server that is just starting accepts a connection and never answers the
 * handshake. If a session ends while it is attached again, the server answers the handshake and
 * drops all requests. The client library waits for two thirds of the session's timeout, even when
 * the server has long been ready. The limit here is shorter. It doubles with each attempt that is
 * not answered, so that a slow network, or a busy leader, does not keep a client out. Microseconds.
 * The I/O thread.
 */

#include <stdint.h>

struct zr_handshake {
    int64_t due_us; /* until when the present attempt must be answered */
    int unanswered; /* attempts in a row that were not */
};

/* An attempt begins now, for a session of this timeout. */
void zr_handshake_begin(struct zr_handshake *handshake, int64_t now_us, int32_t timeout_ms);

/* The attempt was answered, or was not answered in time. */
void zr_handshake_answered(struct zr_handshake *handshake);
void zr_handshake_late(struct zr_handshake *handshake);

#endif
