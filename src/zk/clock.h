#ifndef ZR_CLOCK_H
#define ZR_CLOCK_H

/* clock.h: the clock that all threads share, and waiting by it. Microseconds. Any thread. */

#include <stdint.h>

/* On a clock that is never set, and that runs on while the machine sleeps. */
int64_t zr_now_us(void);

/* The argument of poll for this wait; negative: no limit. Rounded up, so that a wait of less
   than a millisecond does not become a busy loop. */
int zr_poll_ms(int64_t wait_us);

static inline int64_t zr_earlier_us(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

#endif
