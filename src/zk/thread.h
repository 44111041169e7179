#ifndef ZR_THREAD_H
#define ZR_THREAD_H

/* thread.h: starting a thread of ours, and the clock all of them share. Any thread. */

#include <stdbool.h>
#include <stdint.h>

/* Microseconds on a clock that is never set and goes on while the machine sleeps. */
int64_t zr_now_us(void);

/*
 * Runs body(with) on a detached thread that takes no signal. keeps: with, which is the body's from
 * then on. False: there is no room for another thread, and nothing was started.
 */
bool zr_thread_start(void *(*body)(void *), void *with);

#endif
