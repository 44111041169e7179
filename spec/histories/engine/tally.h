#ifndef ZR_SPEC_TALLY_H
#define ZR_SPEC_TALLY_H

/*
 * tally.h: runs histories, counts them, and reports failures. The first failed history is shrunk
 * and printed with its trace.
 */

#include "run.h"

extern int passed, failed;
extern bool tracing;    /* each history prints its trace and has no time limit */
extern bool first_only; /* the first violation ends the program with status 1 */

/* From now on a crash, or a history that takes too long, is reported like a violation. */
void expect_crashes(void);

/* Resets the sums. */
void begin_tally(void);

/* Prints the sums since begin_tally. */
void tell_tally(const struct recipe *recipe);

/* Runs the history, counts it, and reports a failure. `name` says how to repeat it; borrowed; null:
   the shape says it. */
void try_history(const struct recipe *recipe, const struct shape *shape, const char *name);

/* Begins a check that is not a history. keeps: name, until end_check. */
void begin_check(const char *name);

/* Counts the check; ends the program after a failure if first_only is set. */
void end_check(bool right);

#endif
