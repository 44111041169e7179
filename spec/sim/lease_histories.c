/*
 * lease_histories.c: no two valid holders, in many histories of one holder, one waiter, and what
 * may befall the leader, the follower, the links and the clients between two heartbeats.
 *
 *     lease_histories [--seeds N] [--seed S] [--trace] [--first]
 *
 * A holds a lock through server F; B waits elsewhere, and its session is left alone. Up to four
 * faults follow one after the other, each right after the nth of some kind of event; the last one
 * mostly cuts F off from the leader. When B is granted, A must not be valid, nor become so again.
 *
 * The seed decides the ticks (T from half a tick to 20), whether A says `tick`, the latency, and
 * how late the servers' threads are. What lease.c supposes is kept: threads of the leader are less
 * than T/40 late while it runs, and it runs for T/40 at least between two pauses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine.h"
#include "core/session.h"
#include "recipes/hold.h"
#include "recipes/lock.h"
#include "recipes/recipes.h"
#include "sim/process.h"
#include "sim/random.h"
#include "sim/world.h"

#include "alone.h"

#define MS INT64_C(1000)
#define NEVER INT64_MAX
#define STEPS_MAX 5

enum event { BEAT, ANSWER, PING, PONG, ROUND, WOKEN, DOOM, EVENTS };

enum act {
    PAUSE_LEADER,
    PAUSE_FOLLOWER,
    PAUSE_A,
    PAUSE_B,
    HOLD_REQUESTS, /* of A, on their way to F */
    HOLD_ANSWERS,
    HOLD_BOTH,
    HOLD_FROM_F, /* between F and the leader */
    HOLD_TO_F,
    CUT_A,  /* and A reconnects elsewhere, which may grant more */
    SEVER,  /* F is cut off from the leader; what is on its way arrives */
    ISOLATE /* ... or not */
};

struct step {
    enum event on;
    int nth;
    int64_t delay_us, us;
    enum act act;
};

struct party {
    struct zr_zk *zk;
    struct zr_engine *engine;
    struct zr_session *session;
    struct zr_object *lock;
    struct zr_task *task;
    struct zr_hold *hold;
    bool lazy; /* its host does nothing more: only its I/O thread runs */
};

static struct {
    struct zr_sim_world *world;
    struct zr_sim_random dice;
    struct party a, b;
    int follower;
    int32_t tick_ms, timeout_ms;
    int64_t t_us; /* the smallest timeout that A is granted */
    struct step steps[STEPS_MAX];
    int step_count, step; /* the one that waits for its event */
    int left;             /* ... this many of them */
    int64_t due_us;       /* when it acts; NEVER: its event has not come */
    int64_t free_us;      /* when the leader may be paused again */
    int64_t release_us;   /* when A's messages are let through */
    int64_t granted_us;   /* B was */
    int64_t seen[EVENTS], sent_us;
    unsigned flying;
    size_t ping_next;
} now;

static bool tracing, first_only;
static uint64_t granted_count, step_total;
static int64_t longest_us;

static int64_t below(int64_t bound)
{
    return zr_sim_random_below(&now.dice, bound);
}

static int64_t clock_us(void)
{
    return zr_sim_now_us(now.world);
}

/* ---- The parties --------------------------------------------------------------------------- */

static void open_party(struct party *party, int server, int32_t timeout_ms, int64_t tick_us)
{
    struct zr_session_options options = {
        .hosts = {"sim:1", 5}, .timeout_us = timeout_ms * MS, .request_timeout_us = -1, .tick_us = tick_us};
    const struct zr_lock_options choice = {0};
    struct zr_args args = {.at[0] = {.given = true, .bytes = {"/l", 2}}, .options = &choice};
    const char *misuse;
    party->zk = zr_sim_zk(now.world);
    zr_sim_prefer(party->zk, server);
    if (zr_engine_new(party->zk, &party->engine) != ZR_OK ||
        zr_session_open(party->engine, &options, &misuse, &party->session) != ZR_OK ||
        zr_recipes[0]->make(party->session, &args, &party->lock) != ZR_OK)
        abort();
}

static void acquire(struct party *party)
{
    struct zr_args none = {.misuse = NULL};
    const struct zr_method *method = party->lock->class->methods;
    while (strcmp(method->name, "acquire") != 0)
        method++;
    if (method->start(party->lock, &none, &party->task) != ZR_OK)
        abort();
}

static void dispatch(struct party *party)
{
    if (party->engine == NULL || party->lazy || zr_sim_paused(party->zk))
        return;
    while (zr_engine_dispatch(party->engine, 64) > 0)
        continue;
    if (zr_engine_next_reported(party->engine) == NULL || party->task == NULL)
        return;
    if (party->task->status == ZR_OK) {
        party->hold = zr_hold_of(party->task);
        zr_object_ref(&party->hold->object);
    }
    zr_task_drop(party->task, true);
    party->task = NULL;
}

static bool is_valid(const struct party *party)
{
    return party->hold != NULL && party->hold->state == ZR_HELD &&
           zr_session_valid(party->session, party->hold->seat.generation);
}

static void close_party(struct party *party)
{
    if (party->engine == NULL)
        return;
    party->lazy = false;
    if (party->hold != NULL)
        zr_object_unref(&party->hold->object);
    zr_object_unref(party->lock);
    zr_session_class.forget(&party->session->object);
    zr_session_close(party->session, 0);
    zr_object_unref(&party->session->object);
}

/* What it had under way ends first. */
static void free_party(struct party *party)
{
    if (party->engine == NULL)
        return;
    while (!zr_engine_ended(party->engine)) {
        zr_sim_step(now.world);
        dispatch(party);
    }
    zr_engine_unref(party->engine);
}

/* ---- What happens -------------------------------------------------------------------------- */

static const struct zr_handle *handle_of_a(void)
{
    return now.a.session->now != NULL ? now.a.session->now->handle : NULL;
}

/* Counts what has happened in the last step of the world. */
static void look(void)
{
    const struct zr_handle *handle = handle_of_a();
    const struct zr_sim_server *leader = &now.world->servers[0];
    const struct zr_sim_server *follower = &now.world->servers[now.follower];
    if (handle != NULL) {
        bool sent = handle->lease.sent_us != now.sent_us;
        now.seen[BEAT] += sent;
        now.seen[ANSWER] += handle->lease.count < now.flying + sent;
        now.sent_us = handle->lease.sent_us;
        now.flying = handle->lease.count;
    }
    now.seen[PING] = follower->pings;
    now.seen[PONG] = follower->pongs;
    now.seen[ROUND] += now.ping_next != 1 && now.world->ping_next == 1;
    now.ping_next = now.world->ping_next;
    now.seen[WOKEN] += leader->paused_until_us > 0 && clock_us() >= leader->paused_until_us &&
                       now.free_us == leader->paused_until_us + now.t_us / 40 && now.left > 0;
    now.seen[DOOM] = zr_sim_scheduled(&now.world->doom);
}

static void expect_next(void)
{
    now.due_us = NEVER;
    now.left = now.step < now.step_count ? now.steps[now.step].nth : 0;
    if (now.left == 0)
        return;
    memset(now.seen, 0, sizeof(now.seen));
    look();
    now.left += (int)now.seen[now.steps[now.step].on];
}

static void hold(unsigned held, int64_t us)
{
    zr_sim_partition(now.a.zk, held);
    now.release_us = clock_us() + us;
}

/* The next server may grant as much as A asked for at first. */
static void cut_a(void)
{
    struct zr_handle *handle = now.a.session->now != NULL ? now.a.session->now->handle : NULL;
    if (handle != NULL)
        handle->timeout_ms = now.timeout_ms;
    zr_sim_grant(now.world, 0);
    zr_sim_prefer(now.a.zk, (now.follower + 1) % 3);
    zr_sim_cut(now.a.zk, 0, below(2) == 0);
    if ((now.follower + 1) % 3 != 0 && below(4) > 0)
        now.follower = (now.follower + 1) % 3; /* what follows strikes where A is now */
}

/* Rather until just before A sends its next heartbeat. */
static int64_t aligned(int64_t us)
{
    const struct zr_handle *handle = handle_of_a();
    if (handle == NULL || below(2) == 0)
        return us;
    int64_t sent_us = handle->lease.sent_us, gap_us = now.t_us / 16;
    int64_t gaps = (clock_us() + us - sent_us) / gap_us + 1;
    return sent_us + gaps * gap_us - below(now.t_us / 60) - clock_us();
}

static void pause_leader(int64_t us)
{
    us = aligned(us);
    zr_sim_pause_server(now.world, 0, us);
    now.free_us = clock_us() + us + now.t_us / 40;
}

static void act(const struct step *step)
{
    switch (step->act) {
    case PAUSE_LEADER:
        pause_leader(step->us);
        break;
    case PAUSE_FOLLOWER:
        zr_sim_pause_server(now.world, now.follower, step->us);
        break;
    case PAUSE_A:
        zr_sim_pause(now.a.zk, step->us);
        break;
    case PAUSE_B:
        zr_sim_pause(now.b.zk, step->us);
        break;
    case HOLD_REQUESTS:
    case HOLD_ANSWERS:
    case HOLD_BOTH:
        hold(step->act == HOLD_BOTH ? 3 : step->act == HOLD_ANSWERS ? 2 : 1, step->us);
        break;
    case HOLD_FROM_F:
    case HOLD_TO_F:
        zr_sim_hold_server(now.world, now.follower,
                           step->act == HOLD_TO_F ? ZR_SIM_TO_CLIENT : ZR_SIM_TO_SERVER, step->us);
        break;
    case CUT_A:
        cut_a();
        break;
    case SEVER:
        zr_sim_sever(now.world, now.follower);
        break;
    case ISOLATE:
        zr_sim_isolate(now.world, now.follower, true);
        break;
    }
}

static void act_when_due(void)
{
    const struct step *step = &now.steps[now.step];
    if (clock_us() >= now.release_us) {
        zr_sim_partition(now.a.zk, 0);
        now.release_us = NEVER;
    }
    if (now.due_us == NEVER && now.left > 0 && now.seen[step->on] >= now.left)
        now.due_us = clock_us() + step->delay_us;
    if (clock_us() < now.due_us)
        return;
    if (step->act == PAUSE_LEADER && clock_us() < now.free_us) {
        now.due_us = now.free_us; /* it must run for a while first */
        return;
    }
    act(step);
    now.step++;
    expect_next();
}

/* One thing happens, or the time of a fault comes. */
static void go_on(void)
{
    int64_t due_us = now.due_us < now.release_us ? now.due_us : now.release_us;
    struct zr_sim_event *event = zr_sim_next_event(&now.world->agenda);
    if (due_us < event->at_us)
        zr_sim_advance(now.world, due_us - clock_us());
    else
        zr_sim_step(now.world);
    look();
    act_when_due();
    dispatch(&now.a);
    dispatch(&now.b);
    step_total++;
}

/* ---- What is to happen --------------------------------------------------------------------- */

static int64_t some_delay(void)
{
    const int64_t most_us[] = {
        0, 0, 0, 3 * now.world->options.latency_us, now.t_us / 40, now.t_us / 16, now.t_us / 4};
    return below(most_us[below(7)] + 1);
}

/* Rather what fits between heartbeats, and what is about as long as half a tick. */
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
    static const enum event ons[] = {BEAT, ANSWER, ANSWER, ANSWER, PING, PONG, PONG, ROUND, DOOM};
    static const enum act acts[] = {PAUSE_LEADER,   PAUSE_LEADER, PAUSE_LEADER, PAUSE_FOLLOWER,
                                    PAUSE_FOLLOWER, PAUSE_A,      PAUSE_B,      HOLD_REQUESTS,
                                    HOLD_ANSWERS,   HOLD_BOTH,    HOLD_FROM_F,  HOLD_FROM_F,
                                    HOLD_TO_F,      CUT_A};
    struct step step = {.on = ons[below(9)], .nth = 1 + (int)below(below(4) == 0 ? 16 : 4)};
    step.act = last ? (below(2) == 0 ? SEVER : ISOLATE) : acts[below(14)];
    if (last && below(2) == 0)
        step.on = ANSWER;
    if (step.on == DOOM)
        step.nth = 1;
    step.delay_us = some_delay();
    step.us = some_time(step.act);
    return step;
}

/* Faults that aim at one step of the rule; times and the rest are left to chance. */
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
    {4, {{PONG, PAUSE_LEADER}, {WOKEN, PAUSE_B}, {BEAT, PAUSE_B}, {ANSWER, ISOLATE}}},
    {4, {{PING, PAUSE_LEADER}, {WOKEN, PAUSE_B}, {BEAT, PAUSE_B}, {ANSWER, SEVER}}},
    /* F sleeps when that ping comes; its reply is held up, and lost */
    {4, {{PONG, PAUSE_LEADER}, {WOKEN, PAUSE_FOLLOWER}, {PONG, HOLD_FROM_F}, {ANSWER, ISOLATE}}},
    /* a handshake whose answer is held up; then the new follower is cut off */
    {4, {{ANSWER, CUT_A}, {PING, HOLD_ANSWERS}, {BEAT, PAUSE_B}, {ANSWER, ISOLATE}}},
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
        if (step->act == PAUSE_B)
            step->us = step->delay_us = 0; /* only waits for its event */
        else if (step->on == WOKEN)
            step->delay_us = below(now.t_us / 14);
        if (step->act == HOLD_BOTH)
            step->us = 2 * now.timeout_ms * MS;
    }
}

static void choose_steps(void)
{
    if (below(3) == 0) {
        choose_plan(&plans[below(sizeof(plans) / sizeof(plans[0]))]);
        return;
    }
    bool cuts = below(10) > 0;
    now.step_count = 1 + (int)below(STEPS_MAX);
    for (int i = 0; i < now.step_count; i++)
        now.steps[i] = some_step(cuts && i + 1 == now.step_count);
}

/* T in tenths of a tick. Below two ticks the rule needs `tick`, or ticks of 2 s at most. */
static int64_t choose_timeout(void)
{
    static const int tenths[] = {5, 10, 15, 20, 20, 20, 25, 30, 40, 50, 70, 100, 150, 200};
    static const int32_t ticks_ms[] = {500, 1000, 2000, 3000, 5000};
    int tenth = tenths[below(14)];
    now.tick_ms = ticks_ms[below(5)];
    now.timeout_ms = now.tick_ms / 10 * tenth;
    bool needs_tick = tenth < 20 && now.tick_ms > 2000;
    return needs_tick || below(2) == 0 ? now.tick_ms * MS : -1;
}

static void choose_world(uint64_t seed, int32_t least_ms)
{
    static const int latencies[] = {10000, 1000, 400, 100, 50}, lates[] = {40, 2, 1};
    int64_t latency_us = 20 + now.t_us / latencies[below(5)];
    const struct zr_sim_options options = {
        .seed = seed,
        .tick_ms = now.tick_ms,
        .least_ms = least_ms,
        .latency_us = latency_us,
        .jitter_us = below(2) == 0 ? latency_us : 3 * latency_us,
        .late_us = now.t_us * 3 / 160 / lates[below(3)], /* two steps of a thread: below T/40 */
        .trace = tracing ? stdout : NULL,
    };
    now.world = zr_sim_world_new(&options);
}

/* ---- One history --------------------------------------------------------------------------- */

static bool a_holds(void)
{
    int64_t end_us = clock_us() + 4 * now.t_us;
    while (now.a.hold == NULL && clock_us() < end_us)
        go_on();
    return now.a.hold != NULL;
}

static void begin(uint64_t seed)
{
    memset(&now, 0, sizeof(now));
    now.dice.state = seed * 2654435761u;
    now.due_us = now.release_us = NEVER;
    int64_t tick_us = choose_timeout();
    bool grows = below(6) == 0;
    now.t_us = now.timeout_ms * MS;
    int32_t first_ms = grows ? now.timeout_ms / 3 : now.timeout_ms;
    if (grows && tick_us > 0)
        now.t_us = first_ms * MS;
    choose_world(seed, first_ms < 2 * now.tick_ms ? now.tick_ms / 10 : 0);
    now.follower = below(20) == 0 ? 0 : 1;
    if (grows && tick_us > 0)
        zr_sim_grant(now.world, first_ms);
    open_party(&now.a, now.follower, now.timeout_ms, tick_us);
    acquire(&now.a);
}

/* What befalls A. Returns false when B was granted too early. */
static bool judge(void)
{
    int64_t end_us = clock_us() + 8 * now.t_us;
    bool good = true;
    while (clock_us() < end_us && (now.granted_us == 0 || clock_us() < now.granted_us + now.t_us)) {
        go_on();
        if (now.b.hold == NULL)
            continue;
        if (now.granted_us == 0)
            now.granted_us = clock_us();
        if (!is_valid(&now.a))
            continue;
        int64_t over_us = handle_of_a()->lease.deadline_us - now.granted_us;
        if (over_us > longest_us)
            longest_us = over_us;
        good = false;
    }
    granted_count += now.granted_us != 0;
    return good;
}

static bool history(uint64_t seed)
{
    begin(seed);
    bool good = true;
    if (a_holds()) {
        int32_t b_ms = 20 * now.tick_ms;
        open_party(&now.b, below(5) < 3 ? 0 : 2, b_ms, now.tick_ms * MS);
        acquire(&now.b);
        int64_t from_us = clock_us() + below(now.t_us);
        while (clock_us() < from_us)
            go_on();
        choose_steps();
        now.a.lazy = below(2) == 0;
        expect_next();
        good = judge();
    }
    close_party(&now.a);
    close_party(&now.b);
    free_party(&now.a);
    free_party(&now.b);
    zr_sim_world_free(now.world);
    return good;
}

int main(int count, char **words)
{
    uint64_t seed = 1, seeds = 100000, failed = 0;
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? words[i + 1] : "";
        if (strcmp(words[i], "--trace") == 0)
            tracing = true;
        else if (strcmp(words[i], "--first") == 0)
            first_only = true;
        else if (strcmp(words[i], "--seeds") == 0)
            seeds = strtoull(value, NULL, 10), i++;
        else if (strcmp(words[i], "--seed") == 0)
            seed = strtoull(value, NULL, 10), seeds = 1, i++;
        else if (strcmp(words[i], "--from") == 0)
            seed = strtoull(value, NULL, 10), i++;
        else
            return fprintf(stderr, "lease_histories: what is %s?\n", words[i]), 2;
    }
    for (uint64_t i = 0; i < seeds; i++) {
        if (history(seed + i))
            continue;
        failed++;
        if (first_only || failed <= 10)
            printf("after %llu histories: --seed %llu: two valid holders\n",
                   (unsigned long long)(i + 1), (unsigned long long)(seed + i));
        if (first_only)
            return 1;
    }
    printf("%llu histories, %llu grants to the other, %llu steps; longest with two valid holders: "
           "%.3f s\n",
           (unsigned long long)seeds, (unsigned long long)granted_count,
           (unsigned long long)step_total, (double)longest_us / 1e6);
    printf("%llu passed, %llu failed\n", (unsigned long long)(seeds - failed),
           (unsigned long long)failed);
    return failed > 0;
}
