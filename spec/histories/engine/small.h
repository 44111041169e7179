#ifndef ZR_SPEC_SMALL_H
#define ZR_SPEC_SMALL_H

/*
 * small.h: all small histories. Two processes, each with one contender that does one or two things,
 * and one fault, of each kind, at each request of either; with each of them, also one allocation
 * that fails, each in turn, or one contender that is stopped, after each of its steps.
 *
 * And three processes that do two things each, and begin in turn: so close that their requests are
 * in flight together, or each when the one before has its answers. They differ only in what they
 * do, so all combinations of what they do are all orders in which they could begin.
 */

#include "tally.h"

/* Tries all of them, and counts them in the tally. */
void try_small(const struct recipe *recipe);

#endif
