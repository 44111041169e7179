#ifndef ZR_GUARDIAN_FAREWELL_H
#define ZR_GUARDIAN_FAREWELL_H

/* farewell.h: ends the session of another process, which has died. */

#include "guardian/order.h"

/*
 * Attaches to the session and closes it, at one server after the other, until one says that it is
 * over or its timeout has passed. borrows: order. Waits.
 */
void zr_farewell(const struct zr_guardian_order *order);

#endif
