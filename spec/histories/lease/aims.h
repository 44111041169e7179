#ifndef ZR_SPEC_LEASE_AIMS_H
#define ZR_SPEC_LEASE_AIMS_H

/*
 * aims.h: histories that aim at one part of the lease's rule. Random histories would need some
 * hundred thousand runs to show what goes wrong without that part.
 *
 * In all of them T is a few ticks, messages are quick, and the leader's threads are as late as the
 * rule allows. F is cut off right after the lease was extended.
 */

#include "state.h"

/* A time: `pings` half ticks, plus a random time between `from` and `to` thousandths of T. */
struct span {
    int pings, from, to;
};

struct aim {
    bool early;   /* nothing but the handshake has extended the lease yet */
    bool lazy;    /* A's host does nothing more */
    bool shrinks; /* A reconnects, and is granted less */
    int count;
    struct {
        enum event on;
        int most; /* the nth event, n from 1 to this; 0: the first event */
        struct span delay;
        enum act act;
        struct span us;
        bool aligned;
    } steps[STEPS_MAX];
};

/* Sets now.aim in half of the histories; null in the others. */
void choose_aim(void);

/* Fills in the steps of the history from the aim. */
void take_aim(const struct aim *aim);

#endif
