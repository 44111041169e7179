#ifndef ZR_SPEC_HISTORY_H
#define ZR_SPEC_HISTORY_H

/*
 * history.h: the state of one history: a world, its processes, and in each process some contenders
 * for one lock, election or semaphore. Also what all parts of the harness share: dice, the trace,
 * violations, and calls of methods by their descriptors, as a binding makes them.
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
#define NO_REQUEST 1000000 /* a plan for this request number never applies */
#define MOST_PLANS 8
#define MOST_PROCESSES 4
#define MOST_REMOVED 16
#define MOST_CONTENDERS 3

enum part {
    IDLE,     /* no attempt is under way */
    WAITING,  /* an attempt is under way */
    REPORTED, /* its end was reported; the host takes it at due_us */
    HOLDING,
    ASKING, /* it holds, and waits for an answer to `question` */
    DONE,
};

struct contender {
    struct process *process;
    int number;
    enum part part;
    int attempts;             /* still to make */
    int mode;                 /* of the attempt; its meaning is the recipe's */
    int64_t due_us;           /* when it acts next */
    struct zr_session *its;   /* the session of the attempt; borrowed */
    struct zr_task *task;     /* of the attempt */
    struct zr_task *question; /* of an operation on the hold */
    struct zr_object *hold;   /* counted */
    int64_t limit_us;         /* of the attempt; 0: a try */
    int64_t began_us;         /* when the attempt began */
    int generation, failures; /* the session's generation and now.failures when the attempt began */
    bool canceled, occupied, granted;
    bool other; /* the question is recipe->other */
};

struct process {
    int number;
    struct zr_zk *zk;
    struct zr_engine *engine;
    struct zr_session *session;
    struct zr_object *object; /* the lock, election or semaphore */
    struct zr_task *closing;  /* of the call of `close` */
    int64_t close_us;         /* when to close the session and open another one */
    bool over;                /* closed for good */
    int steps;                /* for which its first contender has waited */
    struct contender contenders[MOST_CONTENDERS];
    int count;
};

/* How an attempt is stopped. */
enum stop { CANCEL_ALL, INTERRUPT, DROP, TIME_OUT, STOPS };

/* The parameters of a history. */
struct shape {
    uint64_t seed;
    int servers, processes, contenders, attempts;
    int32_t tick_ms, timeout_ms;
    int64_t faults_us; /* how long there are faults */
    int64_t apart_us;  /* between the starts of two processes; 0: they start at random times */
    int64_t lag_us;    /* of all servers but the leader, until a fault changes it */
    struct zr_sim_faults faults;          /* random faults */
    struct zr_sim_plan plans[MOST_PLANS]; /* plan i is for process i % processes */
    int plan_count;
    int alloc_failures; /* steps in a thousand in which an allocation fails */
    int alloc_at;       /* only this allocation fails; 0: see alloc_failures */
    int stop_at;        /* a contender is stopped at this step ... */
    enum stop stop_how;
    int stops; /* ... the first one of this process */
    bool chaos, kills, closes, patient, slow_hosts;
    bool scripted;              /* each attempt of a process follows the same script: */
    int script[MOST_PROCESSES]; /* index in recipe->scripts */
};

struct history {
    const struct recipe *recipe;
    struct shape shape;
    struct zr_sim_world *world;
    struct zr_sim_random dice;
    struct process processes[MOST_PROCESSES];
    int64_t begin_us, quiet_us, chaos_us;
    int64_t token, written;      /* the last token granted, the last token in the register */
    int64_t alone;               /* the last token granted in a mode that excludes others */
    int64_t free_us[MOST_MODES]; /* since when a try must succeed; NEVER: it may fail */
    int64_t used_up;             /* czxid of the directory whose numbers were set near their end */
    int64_t removed[MOST_REMOVED]; /* tokens of the znodes that another client deleted */
    int removed_count;
    int failures; /* failed allocations */
    int attempts, asked, grants, lost, timeouts, cancels, meddled, overtaken, steps;
    int64_t requests, breaks, faults[ZR_SIM_FAULTS];
    int64_t sent[MOST_PROCESSES]; /* requests, by process, until the end */
    int64_t blocks;               /* of memory, when the history began */
    bool calm, stopped;
    FILE *trace;
    char wrong[240];  /* the first violation ... */
    const char *kind; /* ... and its format string, which tells its kind */
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

/* Notes that a rule is violated. The first violation ends the history. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* True if memory has failed since `failures` was read from now.failures. */
bool ran_out(int failures);

/* ---- Methods, by their description --------------------------------------------------------- */

/* The last value that a method or getter passed to `sink`. */
struct result {
    bool boolean;
    int64_t id;
    struct zr_object *object; /* gives: counted */
};

extern struct result result;
extern struct zr_sink sink;

/* The method must exist. */
const struct zr_method *method(const struct zr_object *object, const char *name);

/* Does what `session:lock(path, options)` does: sets process->object. borrows: all strings. */
enum zr_status make_object(struct process *process, const char *name, const char *path,
                           const void *options);

/* Starts a method that waits. gives: *task, or null if the method could not start. */
enum zr_status start(struct zr_object *object, const char *name, struct zr_args *args,
                     struct zr_task **task);

/* Calls a method that takes no arguments and does not wait; returns its boolean. */
bool call(struct zr_object *object, const char *name);

/* The property `token`. */
int64_t token_of(const struct zr_hold *hold);

/* takes: the reference. A binding does this when it collects the object. */
void let_go(struct zr_object *object);

#endif
