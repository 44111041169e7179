#include "budget.h"

void calm_for(int64_t us)
{
    for (int64_t until_us = clock_us() + us; clock_us() < until_us;) {
        zr_sim_advance(now.world, 100);
        EACH_PROCESS(p)
        zr_engine_dispatch(p->engine, 256);
    }
}

static struct requests counted;
static int64_t all_counted;

static struct requests requests_so_far(void)
{
    return (struct requests){
        .creates = zr_sim_all_requests(now.world, ZR_OP_CREATE),
        .lists = zr_sim_all_requests(now.world, ZR_OP_CHILDREN),
        .deletes = zr_sim_all_requests(now.world, ZR_OP_DELETE),
        .gets = zr_sim_all_requests(now.world, ZR_OP_GET),
        .looks = zr_sim_all_requests(now.world, ZR_OP_EXISTS),
        .sets = zr_sim_all_requests(now.world, ZR_OP_SET),
        .multis = zr_sim_all_requests(now.world, ZR_OP_MULTI),
        .syncs = zr_sim_all_requests(now.world, ZR_OP_SYNC),
    };
}

void count_from_here(void)
{
    counted = requests_so_far();
    all_counted = zr_sim_all_requests(now.world, ZR_SIM_ANY_OP);
}

void spent(const char *what, struct requests budget)
{
    struct requests sum = requests_so_far();
    bool within =
        sum.creates - counted.creates == budget.creates &&
        sum.lists - counted.lists == budget.lists &&
        sum.deletes - counted.deletes == budget.deletes && sum.gets - counted.gets == budget.gets &&
        sum.looks - counted.looks == budget.looks && sum.sets - counted.sets == budget.sets &&
        sum.multis - counted.multis == budget.multis && sum.syncs - counted.syncs == budget.syncs &&
        zr_sim_all_requests(now.world, ZR_SIM_ANY_OP) - all_counted ==
            budget.creates + budget.lists + budget.deletes + budget.gets + budget.looks +
                budget.sets + budget.multis + budget.syncs;
    if (!within)
        wrong("%s: not %lld creates, %lld lists, %lld deletes, %lld gets, %lld looks, %lld sets, "
              "%lld multis, %lld syncs; but %lld, %lld, %lld, %lld, %lld, %lld, %lld, %lld",
              what, (long long)budget.creates, (long long)budget.lists, (long long)budget.deletes,
              (long long)budget.gets, (long long)budget.looks, (long long)budget.sets,
              (long long)budget.multis, (long long)budget.syncs,
              (long long)(sum.creates - counted.creates), (long long)(sum.lists - counted.lists),
              (long long)(sum.deletes - counted.deletes), (long long)(sum.gets - counted.gets),
              (long long)(sum.looks - counted.looks), (long long)(sum.sets - counted.sets),
              (long long)(sum.multis - counted.multis), (long long)(sum.syncs - counted.syncs));
    count_from_here();
}

struct zr_task *begin_calmly(int process, int mode, int64_t limit_us)
{
    struct contender user = {.process = &now.processes[process], .mode = mode};
    struct zr_args args = {0};
    now.attempts++;
    args.at[0].given = limit_us >= 0;
    args.at[0].integer = limit_us;
    now.recipe->start(&user, &args);
    calm_for(10 * MS);
    return user.task;
}

struct zr_object *end_calmly(struct zr_task *task)
{
    result.object = NULL;
    if (zr_engine_next_reported(task->session->engine) != task)
        wrong("nothing was reported");
    else if (task->status == ZR_OK)
        task->kind->results(task, &sink);
    zr_task_drop(task, true);
    return result.object;
}

struct zr_object *acquire_calmly(int mode, int64_t limit_us)
{
    return end_calmly(begin_calmly(0, mode, limit_us));
}

void give_up_calmly(struct zr_task *task)
{
    zr_task_drop(task, false);
    calm_for(10 * MS);
}

void release_calmly(struct zr_object *hold)
{
    if (hold == NULL) {
        wrong("what is free was not granted");
        return;
    }
    call(hold, now.recipe->release);
    let_go(hold);
    calm_for(10 * MS);
}

void try_budget(const struct recipe *recipe)
{
    struct shape shape = {.seed = 1, .servers = 1, .processes = 3, .contenders = 0};
    shape.tick_ms = 20000; /* so that no container is reaped meanwhile */
    shape.timeout_ms = 60000;
    char name[80];
    snprintf(name, sizeof(name), "%s, its requests", recipe->name);
    begin_check(name);
    begin_history(recipe, &shape, tracing ? stdout : NULL);
    calm_for(10 * MS);
    recipe->spend();
    end_check(finish_history());
}
