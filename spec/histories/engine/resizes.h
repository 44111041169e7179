#ifndef ZR_SPEC_RESIZES_H
#define ZR_SPEC_RESIZES_H

/*
 * resizes.h: the calls of semaphore:resize in a history, and what they promise: a resize that was
 * answered with success is kept, and the message of one that failed tells whether the limit may
 * have been stored.
 */

#include "history.h"

/* A history begins; the first user of the semaphore stores this limit. */
void begin_resizes(int64_t first_limit);

/* A process changes the limit; some calls have a time limit, and some are abandoned. late: the
   write comes late, and the call probably ends before. */
void resize_semaphore(struct process *process, bool late);

/* For recipe.reported. */
bool resize_reported(struct zr_task *task);

/* The stored limit is this one: there must be a call that may have stored it. */
void check_kept(int64_t limit);

#endif
