/*
 * lease_histories.c: checks that there are never two valid holders. Each history has one holder,
 * one waiter, and faults of the leader, the follower, the links and the clients between two
 * heartbeats.
 *
 *     lease_histories [--seeds N] [--from S]    seeds S (1) to S + N - 1
 *     lease_histories --seed S                  one, with its trace
 *     lease_histories --first ...               exit at the first violation
 *
 * A holds a lock through server F. B waits for it through another server, and no fault touches B's
 * session. Up to four faults follow one after the other, each right after the nth event of some
 * kind. The last fault mostly cuts F off from the leader. When B is granted, A must not be valid,
 * and must never become valid again.
 *
 * The seed decides the ticks (T from half a tick to 20), whether A gives the option `tick`, the
 * latency, and how late the servers' threads are. The assumptions of lease.c hold: the leader's
 * threads are less than T/40 late while it runs, and it runs for at least T/40 between two pauses.
 */
#include "faults.h"
#include "plans.h"

static bool first_only;
static uint64_t granted_count;
static int64_t longest_us;

/* ---- One history --------------------------------------------------------------------------- */

static bool a_holds(void)
{
    int64_t end_us = clock_us() + 4 * now.t_us;
    while (now.a.hold == NULL && clock_us() < end_us)
        go_on();
    return now.a.hold != NULL;
}

/* The timeout that A is granted first. Later it may be longer or shorter. */
static int32_t choose_grants(bool told)
{
    bool shrinks = now.aim != NULL && now.aim->shrinks;
    bool grows = now.aim == NULL && below(6) == 0;
    int32_t least_ms = 2 * now.tick_ms;
    now.less_ms = shrinks ? least_ms + (int32_t)below(now.timeout_ms - least_ms) : 0;
    int32_t first_ms = grows ? now.timeout_ms / 3 : now.timeout_ms;
    now.t_us = (shrinks ? now.less_ms : grows && told ? first_ms : now.timeout_ms) * MS;
    return first_ms;
}

static void begin(uint64_t seed)
{
    memset(&now, 0, sizeof(now));
    now.dice.state = seed * 2654435761u;
    now.due_us = now.release_us = NEVER;
    choose_aim();
    int64_t tick_us = choose_timeout();
    int32_t first_ms = choose_grants(tick_us > 0);
    int32_t least_ms = first_ms < 2 * now.tick_ms ? now.tick_ms / 10 : 0;
    choose_world(seed, least_ms);
    now.follower = now.aim == NULL && below(20) == 0 ? 0 : 1;
    if (first_ms < now.timeout_ms && tick_us > 0)
        zr_sim_grant(now.world, first_ms);
    zr_sim_advance(now.world, below(now.tick_ms * MS)); /* A may connect at any moment of a tick */
    open_party(&now.a, now.follower, now.timeout_ms, tick_us);
    acquire(&now.a);
}

/* Runs the faults. False: B was granted too early. */
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

/* B starts to wait, and the faults begin. */
static void set_out(void)
{
    bool at_leader = now.aim != NULL || below(5) < 3;
    open_party(&now.b, at_leader ? 0 : 2, 20 * now.tick_ms, now.tick_ms * MS);
    acquire(&now.b);
    int64_t from_us = clock_us();
    if (now.aim == NULL || !now.aim->early)
        from_us += below(now.t_us);
    while (clock_us() < from_us)
        go_on();
    choose_steps();
    now.a.lazy = below(2) == 0 || (now.aim != NULL && now.aim->lazy);
    expect_next();
}

static bool history(uint64_t seed)
{
    begin(seed);
    bool good = true;
    if (a_holds()) {
        set_out();
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
        if (strcmp(words[i], "--first") == 0)
            first_only = true;
        else if (strcmp(words[i], "--seeds") == 0)
            seeds = strtoull(value, NULL, 10), i++;
        else if (strcmp(words[i], "--seed") == 0)
            seed = strtoull(value, NULL, 10), seeds = 1, tracing = true, i++;
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
