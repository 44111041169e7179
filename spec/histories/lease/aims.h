#ifndef ZR_SPEC_LEASE_AIMS_H
#define ZR_SPEC_LEASE_AIMS_H

/*
 * aims.h: histories that aim at one part of the lease's rule. By chance alone, some hundred
 * thousand histories would be needed to hit what goes wrong without that part.
 *
 * All happen in a world in which T is a few ticks, messages are quick, and the leader's threads are
 * as late as they may be. F is cut off right after the lease was extended.
 */

#include "state.h"

/* A time: so many pings (half ticks), and from .. to thousandths of T. */
struct span {
    int pings, from, to;
};

struct aim {
    bool early;   /* while only the handshake counts */
    bool lazy;    /* A's host does nothing more */
    bool shrinks; /* A reconnects, and is granted less */
    int count;
    struct {
        enum event on;
        int most; /* the nth of them, up to this one; 0: the first */
        struct span delay;
        enum act act;
        struct span us;
        bool aligned;
    } steps[STEPS_MAX];
};

/* Half of the histories get an aim: sets now.aim, which is null in the others. */
void choose_aim(void);

/* Fills in the steps of the history. */
void take_aim(const struct aim *aim);

#endif
