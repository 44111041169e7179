#ifndef ZR_SPEC_SMALL_H
#define ZR_SPEC_SMALL_H

/*
 * small.h: all small histories. There are two processes. Each has one contender that makes one or
 * two attempts. One fault of each kind happens at each request of either process. In some of them
 * one allocation fails too, each in turn; or one contender is stopped, after each of its steps. A
 * history that cannot differ from an earlier one is left out: its fault would never happen, or the
 * fault does not depend on what differs.
 *
 * There are also histories of three processes that make two attempts each and begin one after the
 * other: either so close together that their requests are in flight at the same time, or each after
 * the one before has its answers. Processes differ only in their scripts, so all combinations of
 * scripts cover all orders of beginning.
 */

#include "tally.h"

/* Runs all of them and counts them in the tally. */
void try_small(const struct recipe *recipe);

#endif
