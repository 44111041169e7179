#ifndef ZR_SPEC_CONTENDER_H
#define ZR_SPEC_CONTENDER_H

/*
 * contender.h: a user of the recipe. It acquires, tries, or gives up. While it holds, it writes.
 * Then it releases the hold, or drops its last reference, as a garbage collector would.
 */

#include "oracle.h"

/* Sets the contender's part and when it acts next. NEVER: it acts only when its task is reported.
 */
void after(struct contender *contender, enum part part, int64_t us);

/* A random time, mostly short. */
int64_t some_time(void);

/* Does the next action of the contender's part. Call it when due_us is reached. */
void act(struct contender *contender);

/* Stops the current attempt in this way. */
void stop(struct contender *contender, enum stop how);

/* A task of the process was reported. False: it is not this contender's task. */
bool reported(struct contender *contender, struct zr_task *task);

#endif
