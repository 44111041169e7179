#ifndef ZR_SPEC_LEASE_PLANS_H
#define ZR_SPEC_LEASE_PLANS_H

/* plans.h: which faults a history of the lease has, and in which world. now.aim is set before. */

#include "aims.h"

/* Sets the ticks of the servers and the timeout of A. Gives what A says as `tick`; -1: nothing. */
int64_t choose_timeout(void);

/* Makes the world; least_ms is the shortest timeout that its servers grant; 0: two ticks. */
void choose_world(uint64_t seed, int32_t least_ms);

/* Fills in the steps of the history. */
void choose_steps(void);

#endif
