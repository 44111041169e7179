#ifndef ZR_THREAD_H
#define ZR_THREAD_H

/* thread.h: starting a thread of ours. Any thread. */

#include <stdbool.h>

/*
 * Runs body(with) on a detached thread that takes no signal. keeps: with, for the body. False: no
 * thread can be started, and nothing has changed.
 */
bool zr_thread_start(void *(*body)(void *), void *with);

#endif
