#ifndef ZR_SPEC_SMALL_H
#define ZR_SPEC_SMALL_H

/*
 * small.h: all small histories: two processes, each with one contender that does one or two things,
 * and one fault, of each kind, at each request of either.
 */

#include "tally.h"

/* ---- Small histories ----------------------------------------------------------------------- */

static inline void try_small(const struct recipe *recipe, struct shape *shape)
{
    char name[120];
    const struct zr_sim_plan *plan = &shape->plans[shape->plan_count - 1];
    snprintf(name, sizeof(name),
             "--recipe %s --small: scripts %d %d, process %d, fault %d at %d, %lld, down %lld",
             recipe->name, shape->script[0], shape->script[1], shape->plan_count - 1,
             (int)plan->fault, plan->nth, (long long)plan->us, (long long)plan->down_us);
    try_history(recipe, shape, name);
}

/* One fault of one process at each of its requests. */
static inline void try_positions(const struct recipe *recipe, struct shape *shape, int process,
                                 struct zr_sim_plan plan)
{
    const struct zr_sim_plan none = {.nth = 1000000};
    shape->kills = plan.fault == ZR_SIM_EXPIRE;
    shape->plan_count = process + 1;
    for (plan.nth = 1; plan.nth < 100; plan.nth++) {
        shape->plans[0] = none;
        shape->plans[process] = plan;
        try_small(recipe, shape);
        if (now.plans_left > (size_t)process)
            return;
    }
}

static inline void try_faults(const struct recipe *recipe, struct shape *shape)
{
    const int64_t most = shape->timeout_ms * MS * 3 / 2;
    const int64_t times[][2] = {{0, 0}, {MS, 0}, {2 * MS, most}, {most, 0}};
    for (int process = 0; process < 2; process++)
        for (int fault = 0; fault <= ZR_SIM_PAUSE; fault++)
            for (int i = 0; i < 4; i++)
                try_positions(recipe, shape, process,
                              (struct zr_sim_plan){.op = ZR_SIM_ANY_OP,
                                                   .fault = (enum zr_sim_fault)fault,
                                                   .us = times[i][0],
                                                   .down_us = times[i][1]});
}

static inline void try_all_small(const struct recipe *recipe, int servers)
{
    struct shape shape = {.servers = servers, .processes = 2, .contenders = 1, .tick_ms = 200};
    shape.timeout_ms = 600;
    shape.faults_us = SECOND;
    int scripts = recipe->script_count;
    shape.patient = shape.scripted = true;
    for (shape.attempts = 1; shape.attempts <= 2; shape.attempts++)
        for (int pair = 0; pair < scripts * scripts; pair++)
            for (shape.seed = 1; shape.seed <= 3; shape.seed++) {
                shape.script[0] = pair % scripts;
                shape.script[1] = pair / scripts;
                try_faults(recipe, &shape);
            }
}

#endif
