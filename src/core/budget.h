#ifndef ZR_BUDGET_H
#define ZR_BUDGET_H

/*
 * budget.h: how much of something a session has in use, against a limit that a server or the client
 * sets. The user is warned before it is used up. Thread: the host's.
 */

#include "core/session.h"

/* Takes so much if no more than `most` is in use then. False: nothing was taken. */
bool zr_budget_take(struct zr_budget *budget, struct zr_session *session, size_t amount,
                    size_t most);

void zr_budget_give(struct zr_budget *budget, size_t amount);

#endif
