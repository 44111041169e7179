#ifndef ZR_GOODBYE_H
#define ZR_GOODBYE_H

/*
 * goodbye.h: reads from a socket whether the server has ended the session. The answer to the close
 * request is the only proof. The end of a connection, by FIN or by RST, proves nothing: it may be
 * the end of the server, or of a device on the way, while the session lives on. The I/O thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "zk/secure.h"

enum zr_goodbye_state {
    ZR_GOODBYE_AWAITED,
    ZR_GOODBYE_SAID,  /* the session is over */
    ZR_GOODBYE_MISSED /* the connection ended before, and the session may live on */
};

/* How much of the present frame was read: its head, then what is skipped of it. */
struct zr_goodbye {
    unsigned char head[20]; /* length, xid, zxid, error */
    size_t got, skip;
};

/* Begins with the next frame. */
void zr_goodbye_begin(struct zr_goodbye *goodbye);

/*
 * Reads what there is, and never waits. The answers to all other requests must have been read
 * before, so that a frame begins at the next byte. The socket may be shut for reading. borrows: fd;
 * secure, its TLS, or null.
 */
enum zr_goodbye_state zr_goodbye_read(struct zr_goodbye *goodbye, int fd, struct zr_secure *secure);

#endif
