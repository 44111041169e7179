#ifndef ZR_SPEC_LEASE_STATE_H
#define ZR_SPEC_LEASE_STATE_H

/*
 * state.h: the state of one history of the lease: A, B, the next faults, and the world. One history
 * runs at a time, in one thread.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dispatch.h"
#include "core/session.h"
#include "plain/session_class.h"
#include "recipes/hold.h"
#include "recipes/lock.h"
#include "recipes/recipes.h"
#include "sim/process.h"
#include "sim/random.h"
#include "sim/world.h"

#define MS INT64_C(1000)
#define NEVER INT64_MAX
#define STEPS_MAX 5

enum event {
    BEAT,
    ANSWER,
    COUNTED, /* the lease was extended */
    PING,
    PONG,
    ROUND,
    WOKEN, /* the leader runs again after a pause */
    DOOM,
    EVENTS
};

enum act {
    PAUSE_LEADER,
    PAUSE_FOLLOWER,
    PAUSE_A,
    PAUSE_B,
    HOLD_REQUESTS, /* from A to F */
    HOLD_ANSWERS,
    HOLD_BOTH,
    HOLD_FROM_F, /* from F to the leader */
    HOLD_TO_F,
    CUT_A,   /* A reconnects to another server, which may grant more */
    SEVER,   /* F is cut off from the leader; what is on its way arrives */
    ISOLATE, /* F is cut off; what is on its way is lost */
    LET_GO,  /* everything that is held continues */
    WAIT     /* only waits for the event */
};

struct step {
    enum event on;
    int nth;
    int64_t delay_us, us;
    enum act act;
    bool aligned; /* a pause of the leader ends just before A sends a heartbeat */
};

struct party {
    struct zr_zk *zk;
    struct zr_engine *engine;
    struct zr_session *session;
    struct zr_object *lock;
    struct zr_task *task;
    struct zr_hold *hold;
    bool lazy; /* its host does nothing more; only its I/O thread runs */
};

struct aim;

struct lease_history {
    struct zr_sim_world *world;
    struct zr_sim_random dice;
    struct party a, b;
    int follower;
    int32_t tick_ms, timeout_ms;
    int64_t t_us;          /* the smallest timeout that A is granted */
    int32_t less_ms;       /* from the first CUT_A on servers grant A only this; 0: no limit */
    const struct aim *aim; /* null: the faults are random */
    struct step steps[STEPS_MAX];
    int step_count, step; /* the step that waits for its event */
    int left;             /* events that this step still waits for */
    int64_t due_us;       /* when it acts; NEVER: its event has not come */
    int64_t free_us;      /* when the leader may be paused again */
    int64_t release_us;   /* when A's messages are let through */
    int64_t granted_us;   /* when B was granted */
    int64_t seen[EVENTS], sent_us, deadline_us;
    unsigned flying;
    size_t ping_next;
};

extern struct lease_history now;

extern bool tracing;
extern uint64_t step_total; /* steps of all histories */

/* A random number from 0 to bound - 1, from the seed. */
static inline int64_t below(int64_t bound)
{
    return zr_sim_random_below(&now.dice, bound);
}

/* The time of the world. */
static inline int64_t clock_us(void)
{
    return zr_sim_now_us(now.world);
}

/* ---- The parties --------------------------------------------------------------------------- */

/* Begins to connect the party to this server. The party lives until free_party. */
void open_party(struct party *party, int server, int32_t timeout_ms, int64_t tick_us);

/* Begins to acquire the lock; party->hold is set once it is granted. */
void acquire(struct party *party);

/* Dispatches what has come in. */
void dispatch(struct party *party);

/* True if the party's hold says that it is valid. */
bool is_valid(const struct party *party);

/* Begins to close the session, and forgets the lock. */
void close_party(struct party *party);

/* Runs the world until the party has nothing in flight, then frees it. */
void free_party(struct party *party);

#endif
