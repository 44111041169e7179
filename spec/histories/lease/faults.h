#ifndef ZR_SPEC_LEASE_FAULTS_H
#define ZR_SPEC_LEASE_FAULTS_H

/*
 * faults.h: counts what happens in a history of the lease, and lets the next fault strike right
 * after the nth event of its kind.
 */

#include "state.h"

/* The connection of A as its I/O thread sees it; borrowed; or null. */
const struct zr_handle *handle_of_a(void);

/* The events of now.steps[now.step] are counted from now on. */
void expect_next(void);

/* One thing happens in the world, or the time of a fault comes; then both parties are dispatched.
 */
void go_on(void);

#endif
