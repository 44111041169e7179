#include "small.h"

/* ---- One history ----------------------------------------------------------------------------- */

#define MOST_VARIANTS 1000

/* What a history without the fault has shown. */
struct bare {
    int64_t sent; /* requests of the process that has the fault */
    bool struck;  /* the allocation failed, or the contender was stopped */
};

/* By stop_how, and by alloc_at or stop_at. */
static struct bare bares[STOPS][MOST_VARIANTS];

static void forget_bares(void)
{
    for (int how = 0; how < STOPS; how++)
        for (int at = 0; at < MOST_VARIANTS; at++)
            bares[how][at].sent = INT64_MAX;
}

/* Runs the history. But if it ends before the fault, it is the same as without the fault, and that
   one has run. True: memory failed, or the contender was stopped. */
static bool play(const struct recipe *recipe, const struct shape *shape)
{
    int process = shape->plan_count - 1, nth = shape->plans[process].nth;
    int at = shape->alloc_at + shape->stop_at; /* one of them is 0 */
    struct bare *bare = at < MOST_VARIANTS ? &bares[shape->stop_how][at] : NULL;
    if (bare != NULL && nth < NO_REQUEST && nth > bare->sent)
        return bare->struck;
    try_history(recipe, shape, NULL);
    bool struck = now.stopped || (shape->alloc_at > 0 && now.failures > 0);
    if (bare != NULL && nth == NO_REQUEST)
        *bare = (struct bare){now.sent[process], struck};
    return struck;
}

/* ---- What is done with each fault at each request -------------------------------------------- */

typedef void family(const struct recipe *recipe, struct shape *shape);

static void alone(const struct recipe *recipe, struct shape *shape)
{
    play(recipe, shape);
}

/* Makes each allocation fail in turn. */
static void with_memory(const struct recipe *recipe, struct shape *shape)
{
    shape->alloc_at = 1;
    while (play(recipe, shape))
        shape->alloc_at++;
    shape->alloc_at = 0;
}

/* Stops the contender of the process that has the fault, after each step and in each way. */
static void with_stops(const struct recipe *recipe, struct shape *shape)
{
    shape->stops = shape->plan_count - 1;
    for (int how = 0; how < STOPS; how++) {
        shape->stop_how = (enum stop)how;
        shape->stop_at = 1;
        while (play(recipe, shape))
            shape->stop_at++;
    }
    shape->stop_at = 0;
    play(recipe, shape);
}

/* ---- Faults -------------------------------------------------------------------------------- */

/* The process has this plan, the processes before it have none. */
static void give_plan(struct shape *shape, int process, struct zr_sim_plan plan)
{
    for (int other = 0; other < process; other++)
        shape->plans[other] = (struct zr_sim_plan){.nth = NO_REQUEST};
    shape->plans[process] = plan;
    shape->plan_count = process + 1;
    shape->kills = plan.nth < NO_REQUEST && plan.fault == ZR_SIM_EXPIRE;
}

/* Runs the histories in which the process has no fault. Returns how many requests it sends. */
static int64_t try_bare(const struct recipe *recipe, struct shape *shape, int process, family *each)
{
    forget_bares();
    give_plan(shape, process, (struct zr_sim_plan){.nth = NO_REQUEST});
    each(recipe, shape);
    return now.sent[process];
}

/* True if this fault with the time i has the same effect as with an earlier time, or none. (A pause
   of no time has one: it changes the order of what happens at that time.) */
static bool is_known(enum zr_sim_fault fault, const int64_t (*times)[2], int i)
{
    bool lasts = fault == ZR_SIM_DELAY || fault == ZR_SIM_PAUSE;
    bool breaks = !lasts && fault != ZR_SIM_EXPIRE;
    bool later = breaks && fault != ZR_SIM_LOSE_REQUEST && fault != ZR_SIM_LOSE_REPLY;
    bool known = fault == ZR_SIM_DELAY && times[i][0] == 0;
    for (int k = 0; k < i; k++)
        known = known || ((!(lasts || later) || times[k][0] == times[i][0]) &&
                          (!breaks || times[k][1] == times[i][1]));
    return known;
}

/* Applies one fault of one process to each of its requests, and to one more, which it may send if
   something else happens too. */
static void try_positions(const struct recipe *recipe, struct shape *shape, int process,
                          struct zr_sim_plan plan, int64_t sent, family *each)
{
    for (plan.nth = 1; plan.nth <= sent + 1; plan.nth++) {
        give_plan(shape, process, plan);
        each(recipe, shape);
    }
}

static void try_faults(const struct recipe *recipe, struct shape *shape, family *each)
{
    const int64_t most = shape->timeout_ms * MS * 3 / 2;
    const int64_t times[][2] = {{0, 0}, {2 * MS, most}, {MS, 0}, {most, 0}};
    const int count = each == alone && shape->apart_us == 0 ? 4 : 2;
    for (int process = 0; process < shape->processes; process++) {
        int64_t sent = try_bare(recipe, shape, process, each);
        for (int i = 0; i < ZR_SIM_FAULTS * count; i++) {
            struct zr_sim_plan plan = {.op = ZR_SIM_ANY_OP,
                                       .fault = (enum zr_sim_fault)(i / count),
                                       .us = times[i % count][0],
                                       .down_us = times[i % count][1]};
            if (!is_known(plan.fault, times, i % count))
                try_positions(recipe, shape, process, plan, sent, each);
        }
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
