/*
 * The scenarios:
 *
 *   floor [--two-threads] HOSTS PATH SCENARIO ARGUMENTS      prints one line of JSON
 *
 * bench/README.md says what each does.
 */
#include "floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WARM_UP 100 /* operations */
#define IDLE 0.2    /* seconds before a hand-over, as for the other contestants */

static double from, cpu_from;
static int listed; /* answers to try */

static void start_clock(void)
{
    from = now();
    cpu_from = cpu();
}

static void report(int operations, double to)
{
    printf("{\"ops\":%d,\"seconds\":%.6f,\"cpu\":%.6f}\n", operations, to - from, cpu() - cpu_from);
}

static void run_free(zhandle_t *zh, const char *dir, int turns)
{
    enter(&contenders[0], zh, dir, WARM_UP);
    settle();
    granted = 0;
    start_clock();
    enter(&contenders[0], zh, dir, turns);
    until(&granted, turns);
    report(turns, granted_at);
}

static void run_at_once(zhandle_t *zh, const char *dir, int locks, int turns)
{
    char path[NAME_SIZE];
    for (int pass = 0; pass < 2; pass++) {
        granted = 0;
        start_clock();
        for (int i = 0; i < locks; i++) {
            snprintf(path, sizeof path, "%s/%d", dir, i);
            if (pass == 0)
                make_node(zh, path);
            enter(&contenders[i], zh, path, pass == 0 ? 2 : turns);
        }
        settle();
    }
    report(locks * turns, granted_at);
}

/* `turns` each, all on one lock. */
static void run_loop(zhandle_t *zh, const char *dir, int count, int turns)
{
    for (int i = 0; i < count; i++)
        enter(&contenders[i], zh, dir, turns + 2);
    until(&granted, 2 * count);
    start_clock();
    until(&granted, (turns + 2) * count);
    report(turns * count, granted_at);
}

/* The sessions take turns to give the waiters. */
static void run_handoff(zhandle_t *const *sessions, int session_count, const char *dir, int waiters,
                        int rounds)
{
    double seconds = 0, spent = 0;
    for (int round = 0; round <= rounds; round++) {
        granted = parked = 0;
        keep = true;
        enter(&contenders[0], sessions[0], dir, 1);
        until(&granted, 1); /* other sessions could be ahead of it */
        for (int i = 1; i <= waiters; i++)
            enter(&contenders[i], sessions[i % session_count], dir, 1);
        until(&parked, waiters);
        settle();
        keep = false;
        leave(&contenders[0]);
        until(&granted, 2); /* idle threads have woken up by then */
        start_clock();
        until(&granted, waiters + 1);
        if (round > 0) /* the first is for warming up */
            seconds += granted_at - from, spent += cpu() - cpu_from;
        settle();
    }
    printf("{\"ops\":%d,\"seconds\":%.6f,\"cpu\":%.6f}\n", (waiters - 1) * rounds, seconds, spent);
}

/* A session for each waiter, and for the first holder. */
static void run_across(zhandle_t *zh, const char *hosts, const char *dir, int waiters, int rounds)
{
    zhandle_t **sessions = calloc((size_t)waiters + 1, sizeof(zhandle_t *));
    sessions[0] = zh;
    for (int i = 1; i <= waiters; i++)
        sessions[i] = open_session(hosts);
    run_handoff(sessions, waiters + 1, dir, waiters, rounds);
    free(sessions);
}

/* Counts the grants between two times of day, while other processes do the same. */
static void run_contend(zhandle_t *zh, const char *dir, long first, long last)
{
    enter(&contenders[0], zh, dir, 1 << 30);
    while (time(NULL) < first)
        turn();
    granted = 0;
    start_clock();
    while (time(NULL) < last)
        turn();
    report(granted, from + (double)(last - first));
    fflush(stdout);
    _exit(0); /* the end of the session lets the other processes continue */
}

static void on_tried(int rc, const struct String_vector *names, const void *with)
{
    (void)names, (void)with;
    must(rc);
    listed++;
}

static void run_try(zhandle_t *zh, const char *hosts, const char *dir, int turns)
{
    keep = true;
    enter(&contenders[0], open_session(hosts), dir, 1);
    until(&granted, 1);
    settle();
    start_clock();
    for (int i = 0; i < turns; i++) {
        must(zoo_aget_children(zh, dir, 0, on_tried, NULL));
        until(&listed, i + 1);
    }
    report(turns, now());
}

static int by_size(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

#define FIRST_TURNS 10 /* are not counted */

/* Two sessions in turn: one leaves, the other one follows. */
static void run_handover(zhandle_t *zh, const char *hosts, const char *dir, int turns)
{
    zhandle_t *both[2] = {zh, open_session(hosts)};
    double *took = calloc((size_t)(FIRST_TURNS + turns), sizeof(*took));
    keep = true;
    enter(&contenders[0], zh, dir, 1);
    until(&granted, 1);
    for (int i = 0; i < FIRST_TURNS + turns; i++) {
        parked = 0;
        enter(&contenders[(i + 1) % 2], both[(i + 1) % 2], dir, 1);
        until(&parked, 1);
        settle();
        for (double idle = now() + IDLE; now() < idle;)
            turn();
        start_clock();
        leave(&contenders[i % 2]);
        until(&granted, i + 2);
        took[i] = granted_at - from;
        settle();
    }
    qsort(took + FIRST_TURNS, (size_t)turns, sizeof(*took), by_size);
    double median = took[FIRST_TURNS + (turns - 1) / 2];
    printf("{\"ops\":%d,\"seconds\":%.6f,\"cpu\":0}\n", turns, turns * median);
    free(took);
}

/* Stands as a candidate, and prints when it leads. Ends when it is killed. */
static void run_candidate(zhandle_t *zh, const char *dir)
{
    keep = true;
    enter(&contenders[0], zh, dir, 1);
    settle();
    if (granted == 0)
        puts("stands"), fflush(stdout);
    until(&granted, 1);
    printf("leads %d\n", zoo_recv_timeout(zh));
    fflush(stdout);
    for (;;)
        turn();
}

static void run_start(zhandle_t *zh, const char *dir)
{
    keep = true;
    enter(&contenders[0], zh, dir, 1);
    until(&granted, 1);
    puts("{\"ops\":1}");
}

static int number(char *const *arguments, int index)
{
    return arguments[index] != NULL ? atoi(arguments[index]) : 0;
}

/* gives: false if there is no such scenario. */
static bool run(zhandle_t *zh, const char *hosts, const char *dir, const char *scenario, int a,
                int b, int c)
{
    if (strcmp(scenario, "free") == 0)
        run_free(zh, dir, a);
    else if (strcmp(scenario, "at_once") == 0)
        run_at_once(zh, dir, a, b);
    else if (strcmp(scenario, "loop") == 0)
        run_loop(zh, dir, a, b);
    else if (strcmp(scenario, "handoff") == 0)
        run_handoff(&zh, 1, dir, a, b);
    else if (strcmp(scenario, "across") == 0)
        run_across(zh, hosts, dir, a, b);
    else if (strcmp(scenario, "contend") == 0)
        run_contend(zh, dir, a, b);
    else if (strcmp(scenario, "try") == 0)
        run_try(zh, hosts, dir, a);
    else if (strcmp(scenario, "handover") == 0)
        run_handover(zh, hosts, dir, a);
    else if (strcmp(scenario, "candidate") == 0)
        run_candidate(zh, dir);
    else if (strcmp(scenario, "start") == 0)
        run_start(zh, dir);
    else
        return queue_run(zh, dir, scenario, a, b, c);
    return true;
}

int main(int count, char **arguments)
{
    if (count > 1 && strcmp(arguments[1], "--two-threads") == 0) {
        relay_start();
        arguments++;
        count--;
    }
    if (count < 4)
        return 2;
    const char *hosts = arguments[1], *dir = arguments[2], *scenario = arguments[3];
    int a = number(arguments, 4), b = count > 4 ? number(arguments, 5) : 0,
        c = count > 5 ? number(arguments, 6) : 0;
    zoo_set_debug_level(0);
    if (strcmp(scenario, "candidate") == 0)
        session_ms = 2000;
    if (strcmp(scenario, "across") == 0)
        session_ms = 60000; /* so many take a while to open */
    zhandle_t *zh = open_session(hosts);
    make_node(zh, dir);
    if (!run(zh, hosts, dir, scenario, a, b, c))
        return 2;
    settle();
    close_sessions();
    return 0;
}
