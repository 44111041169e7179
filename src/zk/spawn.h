#ifndef ZR_SPAWN_H
#define ZR_SPAWN_H

/* spawn.h: starts the guardian's program. The I/O thread. */

#define ZR_SPAWN_PROBLEM 256

/*
 * Starts the guardian's program, and waits for nothing: a thread of its own starts it. gives: our
 * end of a pair of sockets whose other end the guardian listens on (guardian/order.h), or -1, and
 * then `problem` is a line for the log. What is written into it is read when the guardian runs. If
 * it cannot be started, one packet comes back: the same kind of line; then the other end is closed.
 * It is no child of ours: there is nothing to wait for, and the host hears of no SIGCHLD.
 */
int zr_spawn_guardian(char problem[ZR_SPAWN_PROBLEM]);

#endif
