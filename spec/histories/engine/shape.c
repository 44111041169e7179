#include "shape.h"

/* ---- Histories by chance ------------------------------------------------------------------- */

static uint32_t chance(struct zr_sim_random *dice, uint32_t most)
{
    return (uint32_t)zr_sim_random_below(dice, 3) == 0 ? most : most / 8;
}

static void shape_faults(struct shape *shape, struct zr_sim_random *dice)
{
    static const uint32_t mosts[] = {0, 4000, 30000, 100000};
    uint32_t most = mosts[zr_sim_random_below(dice, 4)];
    int64_t timeout_us = shape->timeout_ms * MS;
    struct zr_sim_faults *faults = &shape->faults;
    faults->lose_request = chance(dice, most);
    faults->lose_reply = chance(dice, most);
    faults->late_request = chance(dice, most);
    faults->delay = chance(dice, most);
    faults->cut = chance(dice, most);
    faults->pause = chance(dice, most / 2);
    faults->lag = chance(dice, most);
    faults->rename = chance(dice, most / 4);
    faults->expire = shape->kills ? chance(dice, most / 4) : 0;
    faults->delay_us = zr_sim_random_below(dice, 2) == 0 ? 3 * MS : timeout_us;
    faults->down_us = zr_sim_random_below(dice, 2) == 0 ? 3 * MS : timeout_us * 3 / 2;
    faults->pause_us = zr_sim_random_below(dice, 2) == 0 ? 3 * MS : timeout_us * 2;
    faults->lag_us = zr_sim_random_below(dice, 2) == 0 ? 20 * MS : 500 * MS;
}

static struct zr_sim_plan any_plan(const struct shape *shape, struct zr_sim_random *dice)
{
    static const int ops[] = {ZR_SIM_ANY_OP,  ZR_OP_CREATE, ZR_OP_DELETE,
                              ZR_OP_CHILDREN, ZR_OP_GET,    ZR_OP_MULTI};
    int64_t kind = zr_sim_random_below(dice, ZR_SIM_FAULTS);
    if (kind == ZR_SIM_EXPIRE && !shape->kills)
        kind = ZR_SIM_LOSE_REPLY;
    return (struct zr_sim_plan){
        .op = ops[zr_sim_random_below(dice, 6)],
        .nth = 1 + (int)zr_sim_random_below(dice, 12),
        .fault = (enum zr_sim_fault)kind,
        .us = zr_sim_random_below(
            dice, zr_sim_random_below(dice, 2) == 0 ? 2 * MS : shape->timeout_ms * MS * 3 / 2),
        .down_us = zr_sim_random_below(dice, 2) == 0
                       ? 0
                       : zr_sim_random_below(dice, shape->timeout_ms * MS * 3 / 2),
    };
}

static void shape_trouble(struct shape *shape, struct zr_sim_random *dice)
{
    shape->kills = zr_sim_random_below(dice, 3) == 0;
    shape->faults_us = 100 * MS + zr_sim_random_below(dice, 5 * SECOND);
    shape->chaos = zr_sim_random_below(dice, 2) == 0;
    shape->closes = zr_sim_random_below(dice, 4) == 0;
    shape->slow_hosts = zr_sim_random_below(dice, 3) == 0;
    shape->alloc_failures = zr_sim_random_below(dice, 4) == 0 ? 60 : 0;
    shape->lag_us = zr_sim_random_below(dice, 2) == 0 ? 0 : zr_sim_random_below(dice, 30 * MS);
    shape->plan_count = (int)zr_sim_random_below(dice, 6);
    shape_faults(shape, dice);
    for (int i = 0; i < shape->plan_count; i++)
        shape->plans[i] = any_plan(shape, dice);
}

struct shape shape_of(uint64_t seed)
{
    struct zr_sim_random dice = {seed};
    struct shape shape = {.seed = seed};
    shape.tick_ms = 100 + 100 * (int32_t)zr_sim_random_below(&dice, 2);
    shape.servers = 1 + (int)zr_sim_random_below(&dice, 3);
    shape.processes = 2 + (int)zr_sim_random_below(&dice, MOST_PROCESSES - 1);
    shape.contenders = 1 + (int)zr_sim_random_below(&dice, MOST_CONTENDERS);
    shape.attempts = 1 + (int)zr_sim_random_below(&dice, 10);
    shape.timeout_ms = 400 + (int32_t)zr_sim_random_below(&dice, 1600);
    shape.patient = zr_sim_random_below(&dice, 2) == 0;
    if (zr_sim_random_below(&dice, 12) > 0)
        shape_trouble(&shape, &dice);
    return shape;
}
