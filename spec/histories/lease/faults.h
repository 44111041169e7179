#ifndef ZR_SPEC_LEASE_FAULTS_H
#define ZR_SPEC_LEASE_FAULTS_H

/*
 * faults.h: counts the events in a history of the lease, and makes the next fault happen right
 * after the nth event of its kind.
 */

#include "state.h"

/* The connection of A as its I/O thread sees it; borrowed; or null. */
const struct zr_handle *handle_of_a(void);

/* Starts to count the events of now.steps[now.step]. */
void expect_next(void);

/* Runs the next event of the world or the next fault; then dispatches both parties. */
void go_on(void);

#endif
