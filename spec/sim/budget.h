#ifndef ZR_SPEC_BUDGET_H
#define ZR_SPEC_BUDGET_H

/*
 * budget.h: how many requests the lock may send when nothing disturbs it: a free lock costs a
 * create and a list; its release, a delete; and a try in vain, one list.
 */

#include "tally.h"

/* A host that comes back every 100 us. */
static inline void calm_for(int64_t us)
{
    for (int64_t until_us = clock_us() + us; clock_us() < until_us;) {
        zr_sim_advance(now.world, 100);
        zr_engine_dispatch(now.processes[0].engine, 256);
    }
}

/* What was sent since the last call. */
static inline void spent(const char *what, int64_t creates, int64_t lists, int64_t deletes)
{
    static int64_t before[3], all_before;
    static const int ops[] = {ZR_OP_CREATE, ZR_OP_CHILDREN, ZR_OP_DELETE};
    const int64_t budget[] = {creates, lists, deletes};
    int64_t all = zr_sim_all_requests(now.world, ZR_SIM_ANY_OP);
    bool within = what == NULL || all - all_before == creates + lists + deletes;
    for (int i = 0; i < 3; i++) {
        int64_t count = zr_sim_all_requests(now.world, ops[i]);
        within = within && (what == NULL || count - before[i] == budget[i]);
        before[i] = count;
    }
    all_before = all;
    if (!within)
        wrong("%s: another number of requests than %lld create, %lld list, %lld delete", what,
              (long long)creates, (long long)lists, (long long)deletes);
}

static inline struct zr_object *acquire_calmly(int64_t limit_us)
{
    struct zr_args args = {0};
    struct zr_task *task;
    args.at[0].given = true;
    args.at[0].integer = limit_us;
    result.object = NULL;
    start(now.processes[0].lock, "acquire", &args, &task);
    calm_for(10 * MS);
    if (zr_engine_next_reported(now.processes[0].engine) != task)
        wrong("nothing was reported");
    else if (task->status == ZR_OK)
        task->kind->results(task, &sink);
    zr_task_drop(task, true);
    return result.object;
}

static inline void release_calmly(struct zr_object *hold)
{
    if (hold == NULL) {
        wrong("a free lock was not granted");
        return;
    }
    call(hold, "release");
    let_go(hold);
    calm_for(10 * MS);
}

static inline void spend(void)
{
    release_calmly(acquire_calmly(SECOND)); /* it also makes the directory */
    spent(NULL, 0, 0, 0);
    struct zr_object *hold = acquire_calmly(SECOND);
    spent("acquire", 1, 1, 0);
    if (acquire_calmly(0) != NULL)
        wrong("a try took a lock that is held");
    spent("a try in vain", 0, 1, 0);
    release_calmly(hold);
    spent("release", 0, 0, 1);
    hold = acquire_calmly(0);
    spent("try", 1, 2, 0);
    release_calmly(hold);
}

static inline void try_budget(void)
{
    struct shape shape = {.seed = 1, .servers = 1, .processes = 1, .contenders = 0};
    shape.tick_ms = 20000; /* so that no container is reaped meanwhile */
    shape.timeout_ms = 60000;
    begin_history(&shape, tracing ? stdout : NULL);
    calm_for(10 * MS);
    spend();
    bool right = finish_history();
    passed += right;
    failed += !right;
    if (!right)
        printf("the budget: %s\n", now.wrong);
}

#endif
