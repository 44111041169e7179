#ifndef ZR_SPEC_STILLNESS_H
#define ZR_SPEC_STILLNESS_H

/*
 * stillness.h: times in a history at which nobody does anything. Otherwise a release would soon
 * wake a waiter that a lost mark has not woken, and the loss would stay hidden.
 */

#include "history.h"

/* A history begins. */
void begin_stillness(void);

/* Called at each instant. After the faults everybody holds still, from time to time. */
void hold_still_at_times(void);

/* Called at each instant: makes some contenders hold for longer than the faults last. */
void hold_long(struct contender *contender);

/* True if the faults have been over for so long that every process has a connection again. */
bool is_settled(void);

/* How long a waiter may wait although there is room. */
int64_t slow_us(void);

#endif
