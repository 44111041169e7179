#ifndef ZR_SPEC_STANDING_H
#define ZR_SPEC_STANDING_H

/* standing.h: the contenders whose znodes are in the directory of a semaphore, with their permits.
 */

#include "history.h"

/* A history begins. */
void begin_standing(void);

/* The sum of the permits of those that were created until this transaction. but: a seat that does
   not count, or null. */
int64_t permits_there(const struct zr_seat *but, int64_t until);

/* Of the seat's znode, also if the seat does not know it yet; 0: there is none. */
int64_t czxid_of(const struct zr_seat *seat);

/* True if the sessions of all that were created until this transaction are connected, and no
   process of them is paused. */
bool all_connected(int64_t until);

#endif
