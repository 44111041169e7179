#ifndef ZR_BUDGET_H
#define ZR_BUDGET_H

/*
 * budget.h: how much of a limited thing a session uses. A server or the client sets the limit. The
 * user is warned before it is used up. Thread: the host's.
 */

#include "core/session.h"

/* Adds `amount` to what is used, if the sum is at most `most`. False: nothing was added. */
bool zr_budget_take(struct zr_budget *budget, struct zr_session *session, size_t amount,
                    size_t most);

void zr_budget_give(struct zr_budget *budget, size_t amount);

#endif
