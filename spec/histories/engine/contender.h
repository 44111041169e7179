#ifndef ZR_SPEC_CONTENDER_H
#define ZR_SPEC_CONTENDER_H

/*
 * contender.h: a user of the recipe. It acquires, or tries, or gives up; it holds, writes under the
 * hold, and releases, or loses the hold out of sight as a language that collects it would.
 */

#include "oracle.h"

/* The contender plays this part from now on, and acts after so long; NEVER: only when reported. */
void after(struct contender *contender, enum part part, int64_t us);

/* A random time, mostly short. */
int64_t some_time(void);

/* Its time has come: it does what its part says. */
void act(struct contender *contender);

/* Stops the attempt that is under way, in this way. */
void stop(struct contender *contender, enum stop how);

/* A task of the process was reported. False if it is not this contender's. */
bool reported(struct contender *contender, struct zr_task *task);

#endif
