/*
 * The floor: the same work on the same client library, by a program that does nothing else. It
 * keeps no lease, survives no lost link, cancels nothing and verifies nothing; whatever fails ends
 * it.
 *
 * A contender creates its seat and lists, in one flight; finds itself first, or watches the one
 * just ahead; and takes the event for the grant. It leaves by a delete that it does not wait for.
 * All of it happens in one thread, inside the client's callbacks.
 *
 *   floor HOSTS PATH SCENARIO ARGUMENTS      prints one line of JSON; bench/README.md has the
 * scenarios
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#define MOST 10001
#define NAME_SIZE 256
#define WARM_UP 100 /* operations */
#define IDLE 0.2    /* seconds before a hand-over, as with the others */

struct contender {
    zhandle_t *zh;
    char dir[NAME_SIZE];
    char seat[NAME_SIZE];
    int left; /* turns */
};

static int session_ms = 10000;
static zhandle_t *handles[2];
static int handle_count, outstanding;
static struct contender contenders[MOST];
static int parked;  /* watch the one ahead of them */
static int granted; /* how often somebody was */
static int listed;  /* answers to try */
static bool keep;   /* who is granted does not leave */
static double granted_at;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void must(int rc)
{
    if (rc == ZOK)
        return;
    fprintf(stderr, "floor: %s\n", zerror(rc));
    exit(1);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static void turn(void)
{
    struct pollfd polls[2];
    int wait = 100;
    for (int i = 0; i < handle_count; i++) {
        int fd, interest;
        struct timeval limit;
        must(zookeeper_interest(handles[i], &fd, &interest, &limit));
        int events =
            (interest & ZOOKEEPER_READ ? POLLIN : 0) | (interest & ZOOKEEPER_WRITE ? POLLOUT : 0);
        polls[i] = (struct pollfd){.fd = fd, .events = (short)events};
        int own = (int)(limit.tv_sec * 1000 + limit.tv_usec / 1000);
        wait = own < wait ? own : wait;
    }
    poll(polls, (nfds_t)handle_count, wait);
    for (int i = 0; i < handle_count; i++) {
        int events = (polls[i].revents & POLLIN ? ZOOKEEPER_READ : 0) |
                     (polls[i].revents & POLLOUT ? ZOOKEEPER_WRITE : 0);
        int rc = events != 0 || zoo_state(handles[i]) != ZOO_CONNECTED_STATE
                     ? zookeeper_process(handles[i], events)
                     : ZOK;
        if (rc != ZNOTHING)
            must(rc);
    }
}

static void quiet(zhandle_t *zh, int type, int state, const char *path, void *with)
{
    (void)zh, (void)path, (void)with;
    if (type == ZOO_SESSION_EVENT && state == ZOO_EXPIRED_SESSION_STATE)
        must(ZSESSIONEXPIRED);
}

static zhandle_t *open_session(const char *hosts)
{
    zhandle_t *zh = zookeeper_init(hosts, quiet, session_ms, NULL, NULL, 0);
    must(zh == NULL ? ZSYSTEMERROR : ZOK);
    zoo_set_servers_resolution_delay(zh, -1); /* else it looks names up in every turn */
    handles[handle_count++] = zh;
    while (zoo_state(zh) != ZOO_CONNECTED_STATE)
        turn();
    return zh;
}

static void on_string(int rc, const char *value, const void *with)
{
    (void)value, (void)with;
    must(rc == ZNODEEXISTS ? ZOK : rc);
    outstanding--;
}

static void make_node(zhandle_t *zh, const char *path)
{
    outstanding++;
    must(zoo_acreate(zh, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, on_string, NULL));
    while (outstanding > 0)
        turn();
}

/* ---- One contender --------------------------------------------------------------------------- */

static void join(struct contender *one);

static void on_gone(int rc, const void *with)
{
    (void)with;
    must(rc);
    outstanding--;
}

static void leave(struct contender *one)
{
    outstanding++;
    must(zoo_adelete(one->zh, one->seat, -1, on_gone, NULL));
    if (--one->left > 0)
        join(one);
}

static void grant(struct contender *one)
{
    granted++;
    granted_at = now();
    if (!keep)
        leave(one);
}

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *with)
{
    (void)zh, (void)state, (void)path;
    if (type == ZOO_DELETED_EVENT)
        grant(with);
}

static void on_watched(int rc, const struct Stat *stat, const void *with)
{
    (void)stat;
    outstanding--;
    if (rc == ZNONODE)
        grant((struct contender *)with);
    else
        must(rc);
    parked++;
}

static void on_created(int rc, const char *path, const void *with)
{
    struct contender *one = (struct contender *)with;
    must(rc);
    outstanding--;
    snprintf(one->seat, sizeof one->seat, "%s", path);
}

static void on_listed(int rc, const struct String_vector *names, const void *with)
{
    struct contender *one = (struct contender *)with;
    const char *mine = strrchr(one->seat, '/') + 1, *ahead = NULL;
    must(rc);
    outstanding--;
    for (int i = 0; i < names->count; i++) {
        const char *name = names->data[i];
        if (strcmp(name, mine) < 0 && (ahead == NULL || strcmp(name, ahead) > 0))
            ahead = name;
    }
    if (ahead == NULL) {
        grant(one);
        return;
    }
    char path[2 * NAME_SIZE];
    snprintf(path, sizeof path, "%s/%s", one->dir, ahead);
    outstanding++;
    must(zoo_awexists(one->zh, path, on_event, one, on_watched, one));
}

static void join(struct contender *one)
{
    char path[NAME_SIZE + 8];
    snprintf(path, sizeof path, "%s/n-", one->dir);
    outstanding += 2;
    must(zoo_acreate(one->zh, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE,
                     on_created, one));
    must(zoo_aget_children(one->zh, one->dir, 0, on_listed, one));
}

static void enter(struct contender *one, zhandle_t *zh, const char *dir, int turns)
{
    one->zh = zh;
    one->left = turns;
    snprintf(one->dir, sizeof one->dir, "%s", dir);
    join(one);
}

static void until(const int *count, int wanted)
{
    while (*count < wanted)
        turn();
}

static void settle(void)
{
    while (outstanding > 0)
        turn();
}

/* ---- The scenarios --------------------------------------------------------------------------- */

static double from, cpu_from;

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

static void run_handoff(zhandle_t *zh, const char *dir, int waiters, int rounds)
{
    double seconds = 0, spent = 0;
    for (int round = 0; round <= rounds; round++) {
        granted = parked = 0;
        keep = true;
        for (int i = 0; i <= waiters; i++)
            enter(&contenders[i], zh, dir, 1);
        until(&parked, waiters);
        settle();
        keep = false;
        leave(&contenders[0]);
        until(&granted, 2); /* what was idle has woken up by then */
        start_clock();
        until(&granted, waiters + 1);
        if (round > 0) /* the first is for warming up */
            seconds += granted_at - from, spent += cpu() - cpu_from;
        settle();
    }
    printf("{\"ops\":%d,\"seconds\":%.6f,\"cpu\":%.6f}\n", (waiters - 1) * rounds, seconds, spent);
}

/* Counts the grants between two times of day; others do the same at the same time. */
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
    _exit(0); /* the session's end lets the others go on */
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

/* Stands, and says when it leads. Ends when it is killed. */
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

static int number(char *const *arguments, int index)
{
    return arguments[index] != NULL ? atoi(arguments[index]) : 0;
}

int main(int count, char **arguments)
{
    if (count < 4)
        return 2;
    const char *hosts = arguments[1], *dir = arguments[2], *scenario = arguments[3];
    int a = number(arguments, 4), b = count > 4 ? number(arguments, 5) : 0;
    zoo_set_debug_level(0);
    if (strcmp(scenario, "candidate") == 0)
        session_ms = 2000;
    zhandle_t *zh = open_session(hosts);
    make_node(zh, dir);
    if (strcmp(scenario, "free") == 0)
        run_free(zh, dir, a);
    else if (strcmp(scenario, "at_once") == 0)
        run_at_once(zh, dir, a, b);
    else if (strcmp(scenario, "loop") == 0)
        run_loop(zh, dir, a, b);
    else if (strcmp(scenario, "handoff") == 0)
        run_handoff(zh, dir, a, b);
    else if (strcmp(scenario, "contend") == 0)
        run_contend(zh, dir, a, b);
    else if (strcmp(scenario, "try") == 0)
        run_try(zh, hosts, dir, a);
    else if (strcmp(scenario, "handover") == 0)
        run_handover(zh, hosts, dir, a);
    else if (strcmp(scenario, "candidate") == 0)
        run_candidate(zh, dir);
    else if (strcmp(scenario, "start") == 0)
        keep = true, enter(&contenders[0], zh, dir, 1), until(&granted, 1), puts("{\"ops\":1}");
    else
        return 2;
    settle();
    for (int i = 0; i < handle_count; i++)
        zookeeper_close(handles[i]);
    return 0;
}
