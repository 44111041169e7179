#ifndef ZR_THREAD_H
#define ZR_THREAD_H

/* thread.h: starting a thread of ours. Any thread. */

#include <stdbool.h>

/*
 * Runs body(with) on a detached thread that takes no signal. keeps: with, which is the body's from
 * then on. False: there is no room for another thread, and nothing was started.
 */
bool zr_thread_start(void *(*body)(void *), void *with);

#endif
