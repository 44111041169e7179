#ifndef LEASE_NOW_H
#define LEASE_NOW_H

/* lease_now.h: what one history of the lease is made of: A, B, the faults to come, and the world.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/dispatch.h"
#include "core/session.h"
#include "recipes/hold.h"
#include "recipes/lock.h"
#include "plain/session_class.h"
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
    WOKEN, /* the leader, after a pause */
    DOOM,
    EVENTS
};

enum act {
    PAUSE_LEADER,
    PAUSE_FOLLOWER,
    PAUSE_A,
    PAUSE_B,
    HOLD_REQUESTS, /* of A, on their way to F */
    HOLD_ANSWERS,
    HOLD_BOTH,
    HOLD_FROM_F, /* between F and the leader */
    HOLD_TO_F,
    CUT_A,   /* and A reconnects elsewhere, which may grant more */
    SEVER,   /* F is cut off from the leader; what is on its way arrives */
    ISOLATE, /* ... or not */
    LET_GO,  /* of all that is held */
    WAIT     /* for the event, no more */
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
    bool lazy; /* its host does nothing more: only its I/O thread runs */
};

struct aim;

static struct {
    struct zr_sim_world *world;
    struct zr_sim_random dice;
    struct party a, b;
    int follower;
    int32_t tick_ms, timeout_ms;
    int64_t t_us;          /* the smallest timeout that A is granted */
    int32_t less_ms;       /* from the first CUT_A on servers grant A only this; 0: more */
    const struct aim *aim; /* null: what happens is left to chance */
    struct step steps[STEPS_MAX];
    int step_count, step; /* the one that waits for its event */
    int left;             /* ... this many of them */
    int64_t due_us;       /* when it acts; NEVER: its event has not come */
    int64_t free_us;      /* when the leader may be paused again */
    int64_t release_us;   /* when A's messages are let through */
    int64_t granted_us;   /* B was */
    int64_t seen[EVENTS], sent_us, deadline_us;
    unsigned flying;
    size_t ping_next;
} now;

static bool tracing;
static uint64_t step_total;

static inline int64_t below(int64_t bound)
{
    return zr_sim_random_below(&now.dice, bound);
}

static inline int64_t clock_us(void)
{
    return zr_sim_now_us(now.world);
}

/* ---- The parties --------------------------------------------------------------------------- */

static inline void open_party(struct party *party, int server, int32_t timeout_ms, int64_t tick_us)
{
    struct zr_session_options options = {.hosts = {"sim:1", 5},
                                         .timeout_us = timeout_ms * MS,
                                         .request_timeout_us = -1,
                                         .tick_us = tick_us};
    const struct zr_lock_options choice = {0};
    struct zr_args args = {.at[0] = {.given = true, .bytes = {"/l", 2}}, .options = &choice};
    const char *misuse;
    party->zk = zr_sim_zk(now.world);
    zr_sim_prefer(party->zk, server);
    if (zr_engine_new(party->zk, zr_recipes, &party->engine) != ZR_OK ||
        zr_session_open(party->engine, &zr_session_class, &options, &misuse, &party->session) !=
            ZR_OK ||
        zr_recipes[0]->make(party->session, &args, &party->lock) != ZR_OK)
        abort();
}

static inline void acquire(struct party *party)
{
    struct zr_args none = {.misuse = NULL};
    const struct zr_method *method = party->lock->class->methods;
    while (strcmp(method->name, "acquire") != 0)
        method++;
    if (method->start(party->lock, &none, &party->task) != ZR_OK)
        abort();
}

static inline void dispatch(struct party *party)
{
    if (party->engine == NULL || party->lazy || zr_sim_paused(party->zk))
        return;
    while (zr_engine_dispatch(party->engine, 64) > 0)
        continue;
    if (zr_engine_next_reported(party->engine) == NULL || party->task == NULL)
        return;
    if (party->task->status == ZR_OK) {
        party->hold = zr_hold_of(party->task);
        zr_object_ref(&party->hold->object);
    }
    zr_task_drop(party->task, true);
    party->task = NULL;
}

static inline bool is_valid(const struct party *party)
{
    return party->hold != NULL && party->hold->state == ZR_HELD &&
           zr_session_valid(party->session, party->hold->seat.generation);
}

static inline void close_party(struct party *party)
{
    if (party->engine == NULL)
        return;
    party->lazy = false;
    if (party->hold != NULL)
        zr_object_unref(&party->hold->object);
    zr_object_unref(party->lock);
    zr_session_class.forget(&party->session->object);
    zr_session_close(party->session, 0);
    zr_object_unref(&party->session->object);
}

/* What it had under way ends first. */
static inline void free_party(struct party *party)
{
    if (party->engine == NULL)
        return;
    while (!zr_engine_ended(party->engine)) {
        zr_sim_step(now.world);
        dispatch(party);
    }
    zr_engine_unref(party->engine);
}

#endif
