#ifndef ZR_SPEC_RUN_H
#define ZR_SPEC_RUN_H

/*
 * run.h: one history, from its shape. It begins, has its faults, is healed, and must then come to
 * an end by itself: first every attempt, then every clean-up, then every session; and nothing is
 * left.
 */

#include "process.h"

/* Sets up `now`. Keeps the recipe and the trace (null: none) until the history has ended. */
void begin_history(const struct recipe *recipe, const struct shape *shape, FILE *trace);

/* Runs it to its end. True if nothing was wrong; otherwise its memory is left as it is. */
bool finish_history(void);

/* Both. What was wrong is in now.wrong. */
bool run_history(const struct recipe *recipe, const struct shape *shape, FILE *trace);

#endif
