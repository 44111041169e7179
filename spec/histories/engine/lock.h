#ifndef ZR_SPEC_LOCK_H
#define ZR_SPEC_LOCK_H

/* lock.h: what the unfair lock and the election have in common with the lock; see struct recipe. */

#include "budget.h"

#define LOCK_SCRIPTS 4

extern const struct script lock_scripts[LOCK_SCRIPTS];

enum zr_status start_lock(struct contender *contender, struct zr_args *args);
void lock_granted(const struct contender *contender, const struct zr_hold *hold);
bool lock_may_fail(int mode, const struct zr_seat *own);

/* The lock's budget, for a recipe that has the same. */
void spend_lock(void);

#endif
