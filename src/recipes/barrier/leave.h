#ifndef ZR_BARRIER_LEAVE_H
#define ZR_BARRIER_LEAVE_H

/* leave.h: a member that leaves its round; only for leave.c and leave_look.c. */

#include "recipes/barrier/member.h"

struct zr_leave {
    struct zr_visit visit;
    int64_t id;              /* of the session in which it looks */
    struct zr_call *content; /* the answer with the round's data and Stat */
    struct zr_roll roll;     /* what both answers say */
    char *awaited;           /* the m- znode that it waits for */
    bool awaiting, counting; /* it does that; it counts, because the limit has passed */
};

struct zr_leave *zr_leave_of(struct zr_task *task);

/* Steps. look: reads the listing and the round. seen: goes on; if not found, the round is gone. */
void zr_leave_look(struct zr_task *task);
void zr_leave_seen(struct zr_task *task, bool found);

#endif
