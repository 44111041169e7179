#ifndef ZR_SPEC_HISTORY_H
#define ZR_SPEC_HISTORY_H

/*
 * history.h: the state of one history: a world, its processes, and in each process some contenders
 * for one thing, a lock for example. Also what all parts of the harness share: dice, the trace,
 * violations, and calls of methods by their description, as a binding makes them.
 *
 * One history runs at a time, in one thread; its state is `now`.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/dispatch.h"
#include "core/session.h"
#include "core/task.h"
#include "plain/request.h"
#include "plain/session_class.h"
#include "recipes/hold.h"
#include "recipes/recipes.h"
#include "sim/random.h"
#include "sim/sim.h"

#include "recipe.h"

#define MS INT64_C(1000)
#define SECOND INT64_C(1000000)
#define NEVER INT64_MAX
#define REGISTER "/n/r"
#define NO_REQUEST 1000000 /* a plan for the request of this number never strikes */
#define MOST_PLANS 8
#define MOST_PROCESSES 4
#define MOST_REMOVED 16
#define MOST_CONTENDERS 3

enum part {
    IDLE,     /* between two attempts */
    WAITING,  /* an attempt is under way, or was reported and not taken yet */
    REPORTED, /* ... and the host comes to take it later */
    HOLDING,
    ASKING, /* holds, and waits for something it asked of the hold */
    DONE,
};

struct contender {
    struct process *process;
    int number;
    enum part part;
    int attempts;             /* that are left */
    int mode;                 /* of the attempt; the recipe's */
    int64_t due_us;           /* when it acts next */
    struct zr_session *its;   /* the session of the attempt, borrowed */
    struct zr_task *task;     /* the attempt */
    struct zr_task *question; /* of the hold */
    struct zr_object *hold;   /* counted */
    int64_t limit_us;         /* of the attempt; 0 is a try */
    int64_t began_us;         /* the attempt */
    int generation, failures; /* of the session, of the memory, when it began */
    bool canceled, occupied, granted;
    bool other; /* the question is the recipe's own */
};

struct process {
    int number;
    struct zr_zk *zk;
    struct zr_engine *engine;
    struct zr_session *session;
    struct zr_object *object; /* the lock */
    struct zr_task *closing;  /* the close method is under way */
    int64_t close_us;         /* when its session is closed and another one opened */
    bool over;                /* closed for good */
    int steps;                /* that its first contender has waited */
    struct contender contenders[MOST_CONTENDERS];
    int count;
};

/* How an attempt is stopped. */
enum stop { CANCEL_ALL, INTERRUPT, DROP, TIME_OUT, STOPS };

/* What a history is made from. */
struct shape {
    uint64_t seed;
    int servers, processes, contenders, attempts;
    int32_t tick_ms, timeout_ms;
    int64_t faults_us; /* for so long there are faults */
    int64_t apart_us;  /* the processes begin in their order, so far apart; 0: as it comes */
    int64_t lag_us;    /* of all servers but the leader, until something changes it */
    struct zr_sim_faults faults;          /* at random */
    struct zr_sim_plan plans[MOST_PLANS]; /* for the process of the same number, round */
    int plan_count;
    int alloc_failures; /* in a thousand steps */
    int alloc_at;       /* this allocation fails, and no other */
    int stop_at;        /* at this step of a process its contender is stopped ... */
    enum stop stop_how;
    int stops; /* ... of this process */
    bool chaos, kills, closes, patient, slow_hosts;
    bool scripted;              /* each process does the same thing each time: */
    int script[MOST_PROCESSES]; /* this one of the recipe's */
};

struct history {
    const struct recipe *recipe;
    struct shape shape;
    struct zr_sim_world *world;
    struct zr_sim_random dice;
    struct process processes[MOST_PROCESSES];
    int64_t begin_us, quiet_us, chaos_us;
    int64_t token, written;        /* the last one granted, the last one in the register */
    int64_t alone;                 /* the last one granted in a mode that excludes */
    int64_t free_us[MOST_MODES];   /* since when a try may not fail; NEVER: it may */
    bool used_up;                  /* the numbers were brought to their end */
    int64_t removed[MOST_REMOVED]; /* the tokens of seats that somebody else deleted */
    int removed_count;
    int failures; /* of memory */
    int attempts, asked, grants, lost, timeouts, cancels, meddled, overtaken, steps;
    int64_t requests, breaks, faults[ZR_SIM_FAULTS];
    size_t plans_left;
    int64_t blocks; /* of memory, before */
    bool calm, stopped;
    FILE *trace;
    char wrong[240];  /* what was violated first ... */
    const char *kind; /* ... and its format */
};

extern struct history now;

#define EACH_PROCESS(p)                                                                            \
    for (struct process *p = now.processes; p < now.processes + now.shape.processes; p++)
#define EACH_CONTENDER(c, p)                                                                       \
    for (struct contender *c = p->contenders; c < p->contenders + p->count; c++)

/* A random number from 0 to below - 1; the seed of the shape decides which. */
static inline int64_t roll(int64_t below)
{
    return zr_sim_random_below(&now.dice, below);
}

/* The time of the world. */
static inline int64_t clock_us(void)
{
    return zr_sim_now_us(now.world);
}

/* Writes a line to the trace, if there is one. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Something must hold and does not. The first violation ends the history. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True if memory has failed since `failures` was read from now.failures. */
bool ran_out(int failures);

/* ---- Methods, by their description --------------------------------------------------------- */

/* What the last call or getter gave to `sink`. */
struct result {
    bool boolean;
    int64_t id;
    struct zr_object *object; /* gives: counted */
};

extern struct result result;
extern struct zr_sink sink;

/* The method must exist. */
const struct zr_method *method(const struct zr_object *object, const char *name);

/* Does what `session:lock(path, options)` does: gives process->object. Borrows all strings. */
enum zr_status make_object(struct process *process, const char *name, const char *path,
                           const void *options);

/* Starts a method that waits: gives *task, which is null if it could not start. */
enum zr_status start(struct zr_object *object, const char *name, struct zr_args *args,
                     struct zr_task **task);

/* Calls a method without arguments that does not wait; gives its boolean. */
bool call(struct zr_object *object, const char *name);

/* The property `token`. */
int64_t token_of(const struct zr_hold *hold);

/* Takes the reference, as a binding does when its last variable is gone. */
void let_go(struct zr_object *object);

#endif
