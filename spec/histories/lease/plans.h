#ifndef ZR_SPEC_LEASE_PLANS_H
#define ZR_SPEC_LEASE_PLANS_H

/* plans.h: chooses the faults and the world of a history of the lease. Set now.aim before. */

#include "aims.h"

/* Sets the servers' tick and A's timeout. Returns the `tick` that A gives as an option; -1: none.
 */
int64_t choose_timeout(void);

/* Creates the world. least_ms: the shortest timeout that its servers grant; 0: two ticks. */
void choose_world(uint64_t seed, int32_t least_ms);

/* Fills in the steps of the history. */
void choose_steps(void);

#endif
