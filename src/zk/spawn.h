#ifndef ZR_SPAWN_H
#define ZR_SPAWN_H

/* spawn.h: starts the guardian's program. The I/O thread. */

#define ZR_SPAWN_PROBLEM 256

/*
 * gives: our end of a pair of sockets whose other end the guardian listens on (guardian/order.h),
 * or -1, and then `problem` is a line for the log. It is no child of ours: there is nothing to wait
 * for, and the host hears of no SIGCHLD.
 */
int zr_spawn_guardian(char problem[ZR_SPAWN_PROBLEM]);

#endif
