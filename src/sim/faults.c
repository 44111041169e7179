/*
 * Faults of client processes and of single requests. A request meets at most one fault. If a plan
 * names the request, it meets the plan's fault. If no plan does, the dice choose. A fault that must
 * be known before the request is sent is stored in the packet; other faults happen right after the
 * request was sent.
 */
#include "sim/leader.h"
#include "sim/process.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

#define ZR_SIM_NO_FAULT ((enum zr_sim_fault) - 1)

struct zr_sim_planned {
    struct zr_link link;
    struct zr_sim_plan plan; /* its `nth` counts down */
};

/* ---- Plans --------------------------------------------------------------------------------- */

void zr_sim_plan(struct zr_zk *zk, const struct zr_sim_plan *plan)
{
    struct zr_sim_planned *planned = zr_sim_alloc(sizeof(*planned));
    planned->plan = *plan;
    zr_list_append(&zr_sim_process_of(zk)->plans, &planned->link);
}

size_t zr_sim_plans_left(const struct zr_zk *zk)
{
    const struct zr_list *plans = &zr_sim_process_of(zk)->plans;
    size_t count = 0;
    ZR_LIST_EACH (link, plans)
        count++;
    return count;
}

void zr_sim_plans_fini(struct zr_sim_process *process)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&process->plans)) != NULL)
        zr_sim_release(ZR_HOLDER(link, struct zr_sim_planned, link));
}

static bool is_meant(const struct zr_sim_plan *plan, const struct zr_handle *handle, int op)
{
    return (plan->op == ZR_SIM_ANY_OP || plan->op == op) &&
           (plan->session == 0 || plan->session == handle->session_id);
}

/* Every plan counts the request; the first plan that is due applies to it. */
static bool planned_for(struct zr_handle *handle, int op, struct zr_sim_plan *met)
{
    struct zr_list *plans = &handle->process->plans;
    bool found = false;
    ZR_LIST_EACH (link, plans) {
        struct zr_sim_planned *planned = ZR_HOLDER(link, struct zr_sim_planned, link);
        if (!is_meant(&planned->plan, handle, op) || --planned->plan.nth > 0 || found)
            continue;
        *met = planned->plan;
        found = true;
        zr_unlink(link);
        zr_sim_release(planned);
    }
    return found;
}

/* ---- Dice ---------------------------------------------------------------------------------- */

static int64_t up_to(struct zr_sim_world *world, int64_t us)
{
    return zr_sim_random_below(&world->dice, us + 1);
}

/* Chooses at most one of the faults, with one throw of the dice. */
static enum zr_sim_fault pick(struct zr_sim_world *world)
{
    const struct zr_sim_faults *faults = &world->faults;
    const uint32_t chances[] = {
        [ZR_SIM_LOSE_REQUEST] = faults->lose_request,
        [ZR_SIM_LOSE_REPLY] = faults->lose_reply,
        [ZR_SIM_LATE_REQUEST] = faults->late_request,
        [ZR_SIM_DELAY] = faults->delay,
        [ZR_SIM_CUT] = faults->cut,
        [ZR_SIM_EXPIRE] = faults->expire,
        [ZR_SIM_PAUSE] = faults->pause,
        [ZR_SIM_RENAME] = faults->rename,
    };
    int64_t left = zr_sim_random_below(&world->dice, 1000000);
    for (int fault = 0; fault < ZR_SIM_FAULTS; fault++)
        if ((left -= chances[fault]) < 0)
            return (enum zr_sim_fault)fault;
    return ZR_SIM_NO_FAULT;
}

static void throw_for_servers(struct zr_handle *handle)
{
    struct zr_sim_world *world = handle->process->world;
    const struct zr_sim_faults *faults = &world->faults;
    if (zr_sim_random_hit(&world->dice, faults->lag))
        zr_sim_lag(world, (int)zr_sim_random_below(&world->dice, (int64_t)world->server_count),
                   up_to(world, faults->lag_us));
}

static void draw(struct zr_handle *handle, struct zr_sim_plan *met)
{
    struct zr_sim_world *world = handle->process->world;
    met->fault = pick(world);
    if (met->fault == ZR_SIM_NO_FAULT)
        return;
    met->us =
        up_to(world, met->fault == ZR_SIM_PAUSE ? world->faults.pause_us : world->faults.delay_us);
    met->down_us = up_to(world, world->faults.down_us);
}

/* ---- One request --------------------------------------------------------------------------- */

static bool breaks(enum zr_sim_fault fault)
{
    return fault == ZR_SIM_LOSE_REQUEST || fault == ZR_SIM_LOSE_REPLY ||
           fault == ZR_SIM_LATE_REQUEST || fault == ZR_SIM_CUT || fault == ZR_SIM_RENAME;
}

static void trace(const struct zr_handle *handle, const struct zr_sim_plan *met)
{
    static const char *const faults[] = {"lose_request", "lose_reply", "late_request", "delay",
                                         "cut",          "expire",     "pause",        "rename"};
    zr_sim_trace(handle->process->world, "fault: %s %lld us, down %lld us", faults[met->fault],
                 (long long)met->us, (long long)met->down_us);
}

/* A server refuses a request that comes over an old connection once the client has a new one. */
static int64_t until_it_came_us(const struct zr_sim_world *world, const struct zr_sim_plan *met)
{
    return met->us + world->options.jitter_us + 1;
}

int64_t zr_sim_faults_before(struct zr_handle *handle, struct zr_sim_packet *packet,
                             struct zr_sim_plan *met)
{
    struct zr_sim_process *process = handle->process;
    *met = (struct zr_sim_plan){.fault = ZR_SIM_NO_FAULT};
    if (!planned_for(handle, (int)packet->copy.op, met)) {
        draw(handle, met);
        throw_for_servers(handle);
    }
    if (met->fault == ZR_SIM_NO_FAULT)
        return 0;
    process->world->met[met->fault]++;
    if (met->down_us < 0)
        met->down_us = until_it_came_us(process->world, met);
    trace(handle, met);
    if (breaks(met->fault))
        process->down_until_us = process->world->now_us + met->down_us;
    if (met->fault == ZR_SIM_LOSE_REQUEST)
        packet->fate = ZR_SIM_LOST;
    if (met->fault == ZR_SIM_LOSE_REPLY)
        packet->fate = ZR_SIM_MUTE;
    return met->fault == ZR_SIM_LATE_REQUEST || met->fault == ZR_SIM_DELAY ? met->us : 0;
}

static void cut(struct zr_sim_event *event)
{
    struct zr_handle *handle = ZR_HOLDER(event, struct zr_handle, cut);
    struct zr_sim_random *dice = &handle->process->world->dice;
    if (!zr_sim_put_off(handle, event))
        zr_sim_handle_lost(handle, zr_sim_random_below(dice, 2) == 0);
}

void zr_sim_faults_after(struct zr_handle *handle, const struct zr_sim_plan *met)
{
    struct zr_sim_world *world = handle->process->world;
    if (met->fault == ZR_SIM_LATE_REQUEST)
        zr_sim_handle_lost(handle, true);
    if (met->fault == ZR_SIM_RENAME)
        zr_sim_rename(world, handle->session_id);
    if (met->fault == ZR_SIM_CUT || met->fault == ZR_SIM_RENAME)
        zr_sim_schedule(&world->agenda, &handle->cut, world->now_us + met->us, cut);
    if (met->fault == ZR_SIM_EXPIRE)
        zr_sim_expire(world, handle->session_id);
    if (met->fault == ZR_SIM_PAUSE)
        zr_sim_pause(&handle->process->table, met->us);
}
