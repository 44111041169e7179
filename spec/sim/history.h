#ifndef ZR_SPEC_HISTORY_H
#define ZR_SPEC_HISTORY_H

/*
 * history.h: what a history is made of: a world, its processes, and in each process some contenders
 * for one thing, a lock for example; and how its parts roll dice, complain, and call methods by
 * their description, as a binding does.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/dispatch.h"
#include "core/session.h"
#include "core/task.h"
#include "recipes/hold.h"
#include "plain/request.h"
#include "plain/session_class.h"
#include "recipes/recipes.h"
#include "sim/random.h"
#include "sim/sim.h"

#include "recipe.h"

#define MS INT64_C(1000)
#define SECOND INT64_C(1000000)
#define NEVER INT64_MAX
#define REGISTER "/n/r"
#define NO_REQUEST 1000000 /* a plan for this one is none */
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

static struct history {
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
} now;

#define EACH_PROCESS(p)                                                                            \
    for (struct process *p = now.processes; p < now.processes + now.shape.processes; p++)
#define EACH_CONTENDER(c, p)                                                                       \
    for (struct contender *c = p->contenders; c < p->contenders + p->count; c++)

static inline int64_t roll(int64_t below)
{
    return zr_sim_random_below(&now.dice, below);
}

static inline int64_t clock_us(void)
{
    return zr_sim_now_us(now.world);
}

static inline void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline void say(const char *format, ...)
{
    va_list arguments;
    if (now.trace == NULL)
        return;
    int64_t us = clock_us() - now.begin_us;
    fprintf(now.trace, "%6lld.%06d  * ", (long long)(us / SECOND), (int)(us % SECOND));
    va_start(arguments, format);
    vfprintf(now.trace, format, arguments);
    va_end(arguments);
    fputc('\n', now.trace);
}

static inline void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The first violation ends the history. */
static inline void wrong(const char *format, ...)
{
    va_list arguments;
    if (now.wrong[0] != '\0')
        return;
    now.kind = format;
    va_start(arguments, format);
    vsnprintf(now.wrong, sizeof(now.wrong), format, arguments);
    va_end(arguments);
    say("VIOLATED: %s", now.wrong);
}

static inline bool ran_out(int since)
{
    return now.failures > since || zr_alloc_failed();
}

/* ---- Methods, by their description --------------------------------------------------------- */

static struct {
    bool boolean;
    int64_t id;
    struct zr_object *object;
} result;

static inline void sink_nothing(struct zr_sink *sink, const char *key)
{
    (void)sink, (void)key;
}

static inline void sink_boolean(struct zr_sink *sink, const char *key, bool value)
{
    (void)sink, (void)key;
    result.boolean = value;
}

static inline void sink_id(struct zr_sink *sink, const char *key, int64_t value)
{
    (void)sink, (void)key;
    result.id = value;
}

static inline void sink_integer(struct zr_sink *sink, const char *key, int64_t value)
{
    (void)sink, (void)key, (void)value;
}

static inline void sink_bytes(struct zr_sink *sink, const char *key, struct zr_bytes value)
{
    (void)sink, (void)key, (void)value;
}

static inline void sink_object(struct zr_sink *sink, const char *key, struct zr_object *value)
{
    (void)sink, (void)key;
    result.object = zr_object_ref(value);
}

static struct zr_sink sink = {
    .nothing = sink_nothing,
    .boolean = sink_boolean,
    .integer = sink_integer,
    .bytes = sink_bytes,
    .id = sink_id,
    .object = sink_object,
    .begin = sink_nothing,
};

static inline const struct zr_method *method(const struct zr_object *object, const char *name)
{
    const struct zr_method *found = object->class->methods;
    while (strcmp(found->name, name) != 0)
        found++;
    return found;
}

/* As `session:lock(path, options)` does. */
static inline enum zr_status make_object(struct process *process, const char *name,
                                         const char *path, const void *options)
{
    struct zr_args args = {.options = options};
    int i = 0;
    while (strcmp(zr_recipes[i]->name, name) != 0)
        i++;
    args.at[0].given = true;
    args.at[0].bytes = (struct zr_bytes){path, strlen(path)};
    return zr_recipes[i]->make(process->session, &args, &process->object);
}

static inline enum zr_status start(struct zr_object *object, const char *name, struct zr_args *args,
                                   struct zr_task **task)
{
    static const struct zr_request_options patient = {.timeout_us = -1};
    *task = NULL;
    if (args->options == NULL)
        args->options = &patient;
    return method(object, name)->start(object, args, task);
}

static inline bool call(struct zr_object *object, const char *name)
{
    struct zr_args none = {0};
    method(object, name)->call(object, &none, &sink);
    return result.boolean;
}

static inline int64_t token_of(const struct zr_hold *hold)
{
    const struct zr_property *property = hold->object.class->properties;
    while (strcmp(property->name, "token") != 0)
        property++;
    property->get((struct zr_object *)&hold->object, &sink);
    return result.id;
}

/* As a binding lets go of something. */
static inline void let_go(struct zr_object *object)
{
    if (object->class->forget != NULL)
        object->class->forget(object);
    zr_object_unref(object);
}

#endif
