#include "small.h"

/* ---- What is done with each fault at each request -------------------------------------------- */

typedef void family(const struct recipe *recipe, struct shape *shape);

static void alone(const struct recipe *recipe, struct shape *shape)
{
    try_shape(recipe, shape);
}

/* Makes each allocation fail in turn. */
static void with_memory(const struct recipe *recipe, struct shape *shape)
{
    for (shape->alloc_at = 1; shape->alloc_at == 1 || now.failures > 0; shape->alloc_at++)
        try_shape(recipe, shape);
    shape->alloc_at = 0;
}

/* Stops the contender of the process that has the fault, after each step and in each way. */
static void with_stops(const struct recipe *recipe, struct shape *shape)
{
    shape->stops = shape->plan_count - 1;
    for (int how = 0; how < STOPS; how++) {
        shape->stop_how = (enum stop)how;
        for (shape->stop_at = 1; shape->stop_at == 1 || now.stopped; shape->stop_at++)
            try_shape(recipe, shape);
    }
    shape->stop_at = 0;
    try_shape(recipe, shape);
}

/* ---- Faults -------------------------------------------------------------------------------- */

/* Applies one fault of one process to each of its requests. In the last history the process sends
   fewer requests, so the fault does not happen. */
static void try_positions(const struct recipe *recipe, struct shape *shape, int process,
                          struct zr_sim_plan plan, family *each)
{
    const struct zr_sim_plan none = {.nth = NO_REQUEST};
    shape->kills = plan.fault == ZR_SIM_EXPIRE;
    shape->plan_count = process + 1;
    for (plan.nth = 1; plan.nth < 100; plan.nth++) {
        for (int other = 0; other < process; other++)
            shape->plans[other] = none;
        shape->plans[process] = plan;
        each(recipe, shape);
        if (now.plans_left > (size_t)process)
            return;
    }
}

static void try_faults(const struct recipe *recipe, struct shape *shape, family *each)
{
    const int64_t most = shape->timeout_ms * MS * 3 / 2;
    const int64_t times[][2] = {{0, 0}, {2 * MS, most}, {MS, 0}, {most, 0}};
    for (int process = 0; process < shape->processes; process++)
        for (int fault = 0; fault < ZR_SIM_FAULTS; fault++)
            for (int i = 0; i < (each == alone && shape->apart_us == 0 ? 4 : 2); i++) {
                struct zr_sim_plan plan = {.op = ZR_SIM_ANY_OP,
                                           .fault = (enum zr_sim_fault)fault,
                                           .us = times[i][0],
                                           .down_us = times[i][1]};
                try_positions(recipe, shape, process, plan, each);
            }
}

/* ---- Scripts --------------------------------------------------------------------------------- */

static bool waits(const struct script *script)
{
    return script->limit_us < 0 && !script->gives_up;
}

static void try_scripts(const struct recipe *recipe, struct shape *shape)
{
    const struct script *scripts = recipe->scripts;
    for (int pair = 0; pair < recipe->script_count * recipe->script_count; pair++) {
        int *script = shape->script;
        script[0] = pair % recipe->script_count;
        script[1] = pair / recipe->script_count;
        try_faults(recipe, shape, alone);
        bool both_wait = waits(&scripts[script[0]]) && waits(&scripts[script[1]]);
        if (shape->attempts > 1 || shape->seed > 1 || !both_wait)
            continue;
        try_faults(recipe, shape, with_memory);
        try_faults(recipe, shape, with_stops);
    }
}

static void try_all_small(const struct recipe *recipe, int servers)
{
    struct shape shape = {.servers = servers, .processes = 2, .contenders = 1, .tick_ms = 200};
    shape.timeout_ms = 600;
    shape.faults_us = SECOND;
    shape.lag_us = 2 * MS;
    shape.patient = shape.scripted = true;
    for (shape.attempts = 1; shape.attempts <= 2; shape.attempts++)
        for (shape.seed = 1; shape.seed <= 3; shape.seed++)
            try_scripts(recipe, &shape);
}

/* Uses one server: more servers only delay answers, and a fault does that too. */
static void try_three(const struct recipe *recipe)
{
    const int64_t apart_us[] = {100, 3 * MS};
    const int count = recipe->three;
    struct shape shape = {.seed = 1, .servers = 1, .processes = 3, .contenders = 1, .attempts = 2};
    shape.tick_ms = 200;
    shape.timeout_ms = 600;
    shape.faults_us = SECOND;
    shape.patient = shape.scripted = true;
    for (int trio = 0; trio < count * count * count; trio++)
        for (int i = 0; i < 2; i++) {
            shape.script[0] = trio % count;
            shape.script[1] = trio / count % count;
            shape.script[2] = trio / count / count;
            shape.apart_us = apart_us[i];
            try_faults(recipe, &shape, alone);
        }
}

void try_small(const struct recipe *recipe)
{
    try_three(recipe);
    for (int servers = 1; servers <= 3; servers += 2)
        try_all_small(recipe, servers);
}
