#ifndef ZR_SPEC_TALLY_H
#define ZR_SPEC_TALLY_H

/*
 * tally.h: runs histories, counts them, and reports those that failed. The first one that failed is
 * shrunk and printed with its trace.
 */

#include "run.h"

extern int passed, failed;
extern bool tracing;    /* each history prints its trace, and none has a time limit */
extern bool first_only; /* the first violation ends the program, with status 1 */

/* From now on a crash, or a history that takes too long, is reported like a violation. */
void expect_crashes(void);

/* Forgets the sums of the recipe before. */
void begin_tally(void);

/* Prints the sums since begin_tally. */
void tell_tally(const struct recipe *recipe);

/* Runs it, counts it, and reports a failure. `name` is how to repeat it; kept until it has ended.
 */
void try_history(const struct recipe *recipe, const struct shape *shape, const char *name);

/* The same, named by its shape. */
void try_shape(const struct recipe *recipe, const struct shape *shape);

/* One check of the recipe begins; `name` is kept until it has ended. */
void begin_check(const char *name);

/* Counts it, and ends the program if it must. */
void end_check(bool right);

#endif
