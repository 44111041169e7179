#ifndef ZR_SPEC_LOCK_H
#define ZR_SPEC_LOCK_H

/* lock.h: what the histories of the unfair lock and of the election share with those of the lock;
   see struct recipe. */

#include "budget.h"

#define LOCK_SCRIPTS 4

extern const struct script lock_scripts[LOCK_SCRIPTS];

enum zr_status start_lock(struct contender *contender, struct zr_args *args);
void lock_granted(const struct contender *contender, const struct zr_hold *hold);
bool lock_may_fail(int mode, const struct zr_seat *own);

/* The budget of the lock. The election has the same. */
void spend_lock(void);

#endif
