#ifndef ZR_SPAWN_H
#define ZR_SPAWN_H

/* spawn.h: starts the guardian's program. The I/O thread. */

#define ZR_SPAWN_PROBLEM 256

/*
 * Starts the guardian's program. Waits for nothing: a thread does it.
 *
 * gives: our end of a pair of sockets, at whose other end the guardian listens (guardian/order.h);
 * or -1, and then `problem` is a line for the log. The guardian reads what is written to the socket
 * as soon as it runs. If it cannot be started, one packet comes back, a line like `problem`, and
 * the other end is closed. The guardian is no child of ours: there is nothing to wait for, and the
 * host gets no SIGCHLD.
 */
int zr_spawn_guardian(char problem[ZR_SPAWN_PROBLEM]);

#endif
