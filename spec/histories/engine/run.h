#ifndef ZR_SPEC_RUN_H
#define ZR_SPEC_RUN_H

/*
 * run.h: runs one history from its shape. After the faults end, every attempt must end, then every
 * clean-up, then every session, and nothing may be left.
 */

#include "process.h"

/* Sets up `now`. keeps: recipe and trace (null: none) until the history has ended. */
void begin_history(const struct recipe *recipe, const struct shape *shape, FILE *trace);

/* Runs the history to its end. True: no rule was violated. False: its memory is not freed. */
bool finish_history(void);

/* begin_history and finish_history. now.wrong has the violation. */
bool run_history(const struct recipe *recipe, const struct shape *shape, FILE *trace);

#endif
