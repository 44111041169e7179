#include "plans.h"

/* ---- What is to happen --------------------------------------------------------------------- */

static int64_t some_delay(void)
{
    const int64_t most_us[] = {
        0, 0, 0, 3 * now.world->options.latency_us, now.t_us / 40, now.t_us / 16, now.t_us / 4};
    return below(most_us[below(7)] + 1);
}

/* A random time; mostly one that fits between heartbeats, or about half a tick. */
static int64_t some_time(enum act act)
{
    int64_t sixteenth_us = now.t_us / 16;
    switch (below(5)) {
    case 0:
        return below(now.t_us / 20);
    case 1:
        return now.tick_ms * MS / 2 + below(2 * sixteenth_us);
    case 2:
        return below(act >= HOLD_REQUESTS ? now.t_us / 2 : now.t_us * 3 / 2);
    default:
        return below(12) * sixteenth_us + below(sixteenth_us);
    }
}

static struct step some_step(bool last)
{
    static const enum event ons[] = {BEAT, ANSWER, ANSWER, ANSWER, COUNTED,
                                     PING, PONG,   PONG,   ROUND,  DOOM};
    static const enum act acts[] = {PAUSE_LEADER,   PAUSE_LEADER, PAUSE_LEADER, PAUSE_FOLLOWER,
                                    PAUSE_FOLLOWER, PAUSE_A,      PAUSE_B,      HOLD_REQUESTS,
                                    HOLD_ANSWERS,   HOLD_BOTH,    HOLD_FROM_F,  HOLD_FROM_F,
                                    HOLD_TO_F,      CUT_A};
    struct step step = {.on = ons[below(10)], .nth = 1 + (int)below(below(4) == 0 ? 16 : 4)};
    step.act = last ? (below(2) == 0 ? SEVER : ISOLATE) : acts[below(14)];
    if (last && below(2) == 0)
        step.on = ANSWER;
    if (step.on == DOOM)
        step.nth = 1;
    step.delay_us = some_delay();
    step.us = some_time(step.act);
    step.aligned = below(2) == 0;
    return step;
}

/* Faults that aim at one step of the rule; times and all else are random. */
static const struct plan {
    int count;
    struct {
        enum event on;
        enum act act;
    } steps[4];
} plans[] = {
    /* the leader sleeps while a ping is due, and F is cut off right after it has woken up */
    {2, {{PONG, PAUSE_LEADER}, {WOKEN, ISOLATE}}},
    {2, {{PONG, PAUSE_LEADER}, {WOKEN, SEVER}}},
    {2, {{PING, PAUSE_LEADER}, {WOKEN, ISOLATE}}},
    {4, {{PONG, PAUSE_LEADER}, {WOKEN, WAIT}, {BEAT, WAIT}, {ANSWER, ISOLATE}}},
    {4, {{PING, PAUSE_LEADER}, {WOKEN, WAIT}, {BEAT, WAIT}, {ANSWER, SEVER}}},
    /* F sleeps when that ping comes; its reply is held up, and lost */
    {4, {{PONG, PAUSE_LEADER}, {WOKEN, PAUSE_FOLLOWER}, {PONG, HOLD_FROM_F}, {ANSWER, ISOLATE}}},
    /* a handshake whose answer is held up; then the new follower is cut off */
    {4, {{ANSWER, CUT_A}, {PING, HOLD_ANSWERS}, {BEAT, WAIT}, {ANSWER, ISOLATE}}},
    {3, {{ANSWER, CUT_A}, {PING, HOLD_ANSWERS}, {BEAT, ISOLATE}}},
    /* the old follower's word comes after the handshake elsewhere */
    {3, {{ANSWER, HOLD_FROM_F}, {BEAT, CUT_A}, {BEAT, HOLD_BOTH}}},
};

static void choose_plan(const struct plan *plan)
{
    now.step_count = plan->count;
    for (int i = 0; i < plan->count; i++) {
        struct step *step = &now.steps[i];
        *step = some_step(false);
        step->on = plan->steps[i].on;
        step->act = plan->steps[i].act;
        step->nth = 1;
        if (step->act == PAUSE_LEADER) {
            step->delay_us = below(now.tick_ms * MS / 2);
            step->us = now.tick_ms * MS / 2 + below(now.t_us / 4);
        }
        if (step->act == WAIT)
            step->delay_us = 0;
        else if (step->on == WOKEN)
            step->delay_us = below(now.t_us / 14);
        if (step->act == HOLD_BOTH)
            step->us = 2 * now.timeout_ms * MS;
    }
}

void choose_steps(void)
{
    if (now.aim != NULL) {
        take_aim(now.aim);
        return;
    }
    if (below(3) == 0) {
        choose_plan(&plans[below(sizeof(plans) / sizeof(plans[0]))]);
        return;
    }
    bool cuts = below(10) > 0;
    now.step_count = 1 + (int)below(STEPS_MAX);
    for (int i = 0; i < now.step_count; i++)
        now.steps[i] = some_step(cuts && i + 1 == now.step_count);
}

/* T in tenths of a tick. Aimed faults hit most often when T is short. */
static int choose_tenth(void)
{
    static const int tenths[] = {5, 10, 15, 20, 20, 20, 25, 30, 40, 50, 70, 100, 150, 200};
    if (now.aim == NULL)
        return tenths[below(14)];
    return now.aim->shrinks ? tenths[8 + below(4)] : tenths[below(7)];
}

int64_t choose_timeout(void)
{
    static const int32_t ticks_ms[] = {500, 1000, 2000, 3000, 5000};
    int tenth = choose_tenth();
    now.tick_ms = ticks_ms[below(5)];
    now.timeout_ms = now.tick_ms / 10 * tenth;
    bool needs_tick = tenth < 20 && now.tick_ms > 2000;
    return needs_tick || below(2) == 0 ? now.tick_ms * MS : -1;
}

void choose_world(uint64_t seed, int32_t least_ms)
{
    static const int latencies[] = {10000, 1000, 400, 100, 50}, lates[] = {1, 2, 40};
    bool aimed = now.aim != NULL;
    int64_t latency_us = 20 + now.t_us / latencies[below(aimed ? 2 : 5)];
    const struct zr_sim_options options = {
        .seed = seed,
        .tick_ms = now.tick_ms,
        .least_ms = least_ms,
        .latency_us = latency_us,
        .jitter_us = below(2) == 0 ? latency_us : 3 * latency_us,
        .late_us = now.t_us * 3 / 160 /
                   lates[below(aimed ? 1 : 3)], /* two steps of a thread stay below T/40 */
        .trace = tracing ? stdout : NULL,
    };
    now.world = zr_sim_world_new(&options);
}
