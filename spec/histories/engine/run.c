#include "run.h"

#define MINUTE (60 * SECOND)
#define PATIENCE_US (4 * MINUTE)
#define MOST_STEPS 1000000

/* ---- A history ----------------------------------------------------------------------------- */

static void plan_faults(void)
{
    for (int i = 0; i < now.shape.plan_count; i++)
        zr_sim_plan(now.processes[i % now.shape.processes].zk, &now.shape.plans[i]);
    if (now.calm)
        return;
    zr_sim_set_faults(now.world, &now.shape.faults);
    for (int i = 1; i < now.shape.servers; i++)
        zr_sim_lag(now.world, i, now.shape.lag_us);
}

void begin_history(const struct recipe *recipe, const struct shape *shape, FILE *trace)
{
    struct zr_sim_options options = {
        .seed = shape->seed, .servers = shape->servers, .tick_ms = shape->tick_ms, .trace = trace};
    now = (struct history){.recipe = recipe, .shape = *shape, .trace = trace};
    now.blocks = zr_alloc_blocks();
    now.calm = shape->faults_us == 0;
    now.dice.state = shape->seed ^ 0x5eed;
    options.reap_ms = (int32_t)(100 + roll(5000));
    now.world = zr_sim_world_new(&options);
    now.begin_us = clock_us();
    now.quiet_us = now.begin_us + shape->faults_us;
    for (int mode = 0; mode < recipe->modes; mode++)
        now.free_us[mode] = now.begin_us - MINUTE;
    now.chaos_us = shape->chaos ? now.begin_us : NEVER;
    if (recipe->begin != NULL)
        recipe->begin();
    for (int i = 0; i < shape->processes; i++)
        open_process(&now.processes[i], i);
    zr_sim_observe(now.world, saw, NULL);
    plan_faults();
    zr_alloc_fail(shape->alloc_at);
}

/* The time of the next event that the harness causes. */
static int64_t next_us(void)
{
    int64_t next = now.chaos_us;
    if (now.quiet_us < next)
        next = now.quiet_us;
    EACH_PROCESS(p)
    {
        int64_t due_us = next_due(p);
        next = due_us < next ? due_us : next;
    }
    return next == NEVER ? clock_us() + SECOND : next;
}

static void trouble_now(void)
{
    if (clock_us() >= now.quiet_us) {
        now.quiet_us = NEVER;
        heal();
    } else if (clock_us() >= now.chaos_us) {
        trouble();
    }
}

static void step(void)
{
    bool fails = now.quiet_us != NEVER && roll(1000) < now.shape.alloc_failures;
    if (now.shape.alloc_at == 0)
        zr_alloc_fail(fails ? 1 + roll(12) : 0);
    zr_sim_run(now.world, next_us());
    check_holds();
    trouble_now();
    EACH_PROCESS(p)
    attend(p);
    now.failures += zr_alloc_failed();
    if (now.shape.alloc_at == 0 || zr_alloc_failed())
        zr_alloc_fail(0);
}

/* ---- Its end ------------------------------------------------------------------------------- */

static bool users_are_done(void)
{
    EACH_PROCESS(p)
    if (!all_done(p))
        return false;
    return true;
}

/* True if no task and no part of the engine uses the session any more. */
static bool is_idle(const struct zr_session *session)
{
    return zr_list_empty(&session->tasks) && zr_list_empty(&session->ties) &&
           zr_list_empty(&session->queue) && session->seats.count == 0 &&
           session->listings.count == 0 && session->watches.count == 0 &&
           session->watched.used == 0 && session->ephemeral.used == 0 && session->in_flight == 0;
}

static bool is_empty(void)
{
    struct zr_stat stat;
    const char *queue = now.recipe->queue;
    size_t kept = queue != NULL && zr_sim_stat(now.world, queue, &stat) ? 1 : 0;
    return zr_sim_count(now.world, now.recipe->dir) == kept;
}

/* True if no znode, no watch and no clean-up is left. */
static bool is_clean(void)
{
    EACH_PROCESS(p)
    if (p->closing != NULL || p->session == NULL || !is_idle(p->session))
        return false;
    return is_empty() && zr_sim_watch_count(now.world) == 0;
}

static bool has_ended(void)
{
    EACH_PROCESS(p)
    if (p->closing != NULL || !zr_engine_ended(p->engine))
        return false;
    return true;
}

static void run_until(bool (*reached)(void), const char *what)
{
    int64_t from_us = now.begin_us + now.shape.faults_us, until_us;
    until_us = (clock_us() > from_us ? clock_us() : from_us) + PATIENCE_US;
    while (now.wrong[0] == '\0' && !(now.quiet_us == NEVER && reached())) {
        if (clock_us() > until_us || ++now.steps > MOST_STEPS)
            wrong("%s: not within the time; %zu znodes, %zu watches", what,
                  zr_sim_count(now.world, now.recipe->dir), zr_sim_watch_count(now.world));
        else
            step();
    }
}

static void leave(void)
{
    EACH_PROCESS(p)
    {
        p->over = true;
        close_session(p);
    }
}

/* The most requests that a history may send. An attempt lists again when a contender ahead leaves.
   After a broken connection or a failed allocation each contender repeats what it has under way. */
static int64_t most_requests(void)
{
    int64_t contenders = now.shape.processes * now.shape.contenders;
    return now.attempts * (now.recipe->requests + 2 * contenders) + 3 * now.asked +
           6 * (now.breaks * now.shape.contenders + now.failures) + 2 * now.meddled * contenders;
}

static void end_history(void)
{
    EACH_PROCESS(p)
    {
        now.sent[p->number] = zr_sim_requests(p->zk, ZR_SIM_ANY_OP);
        zr_engine_unref(p->engine);
    }
    zr_sim_advance(now.world, 3 * now.shape.timeout_ms * MS);
    if (zr_sim_session_count(now.world) + zr_sim_watch_count(now.world) > 0)
        wrong("%zu sessions, %zu watches are left", zr_sim_session_count(now.world),
              zr_sim_watch_count(now.world));
    now.requests = zr_sim_all_requests(now.world, ZR_SIM_ANY_OP);
    now.breaks = zr_sim_break_count(now.world);
    for (int i = 0; i < ZR_SIM_FAULTS; i++)
        now.faults[i] = zr_sim_fault_count(now.world, (enum zr_sim_fault)i);
    if (now.requests > most_requests())
        wrong("%lld requests, %lld are enough", (long long)now.requests,
              (long long)most_requests());
    zr_sim_observe(now.world, NULL, NULL);
    zr_sim_world_free(now.world);
    now.trace = NULL; /* say() needs the world's clock, and the world is freed */
}

bool finish_history(void)
{
    run_until(users_are_done, "every attempt ends");
    run_until(is_clean, "every clean-up ends");
    leave();
    run_until(has_ended, "every session ends");
    if (now.wrong[0] == '\0')
        end_history();
    if (now.wrong[0] == '\0' && zr_alloc_blocks() != now.blocks)
        wrong("%lld blocks are left", (long long)(zr_alloc_blocks() - now.blocks));
    zr_alloc_fail(0);
    return now.wrong[0] == '\0';
}

bool run_history(const struct recipe *recipe, const struct shape *shape, FILE *trace)
{
    begin_history(recipe, shape, trace);
    return finish_history();
}
