#ifndef ZR_TIMER_H
#define ZR_TIMER_H

/*
 * timer.h: deadlines and pauses, as an intrusive pairing heap: arming never allocates, so it
 * never fails. Thread: the host's.
 */

#include <stdbool.h>
#include <stdint.h>

struct zr_timer {
    int64_t at_us;
    void (*fire)(struct zr_timer *timer);  /* null while it is not armed */
    struct zr_timer *child, *next, **link; /* the heap's own */
};

struct zr_timers {
    struct zr_timer *first;
};

/* Arms it, or moves it when it is armed. keeps: timer, until it fires or is stopped. */
void zr_timer_start(struct zr_timers *timers, struct zr_timer *timer, int64_t at_us,
                    void (*fire)(struct zr_timer *timer));

/* Harmless when it is not armed. */
void zr_timer_stop(struct zr_timers *timers, struct zr_timer *timer);

/* When the next one is due; INT64_MAX when there is none. */
int64_t zr_timers_next(const struct zr_timers *timers);

/* Fires one timer that is due; false if none is. The timer is not armed when `fire` is called. */
bool zr_timers_fire(struct zr_timers *timers, int64_t now_us);

#endif
