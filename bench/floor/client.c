/* Sessions, and the loop that serves them. */
#include "floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#define MOST_SESSIONS 1001
#define MOST_READY 64 /* in one turn */
#define RELAY UINT32_MAX
#define LOOK 0.25 /* seconds; a heartbeat is due after a third of the shortest timeout, 0.67 */

int session_ms = 10000;
int outstanding;
static zhandle_t *handles[MOST_SESSIONS];
static int handle_count;
static int poll_fd = -1;

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double cpu(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

void must(int rc)
{
    if (rc == ZOK)
        return;
    fprintf(stderr, "floor: %s\n", zerror(rc));
    exit(1);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static void watch_fd(int fd, uint32_t events, uint32_t number)
{
    struct epoll_event event = {.events = events, .data.u32 = number};
    if (epoll_ctl(poll_fd, EPOLL_CTL_MOD, fd, &event) != 0)
        must(epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event) != 0 ? ZSYSTEMERROR : ZOK);
}

static void start_polling(void)
{
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (relay_fd >= 0)
        watch_fd(relay_fd, EPOLLIN, RELAY);
}

/* Asks the client which events it wants, and the kernel for them. The descriptor may be a new one.
 */
static void prepare(int index)
{
    int fd, interest;
    struct timeval limit;
    must(zookeeper_interest(handles[index], &fd, &interest, &limit));
    uint32_t events =
        (interest & ZOOKEEPER_READ ? EPOLLIN : 0u) | (interest & ZOOKEEPER_WRITE ? EPOLLOUT : 0u);
    watch_fd(fd, events, (uint32_t)index);
}

static void process(int index, uint32_t ready)
{
    int events = (ready & EPOLLIN ? ZOOKEEPER_READ : 0) | (ready & EPOLLOUT ? ZOOKEEPER_WRITE : 0);
    int rc = zookeeper_process(handles[index], events);
    if (rc != ZNOTHING)
        must(rc);
}

/* A connected handle needs a look only after its events, and now and then for its heartbeat. */
static void look_at_all(void)
{
    static double looked_at;
    if (now() < looked_at + LOOK)
        return;
    looked_at = now();
    for (int i = 0; i < handle_count; i++)
        prepare(i);
}

void turn(void)
{
    struct epoll_event ready[MOST_READY];
    look_at_all();
    int count = epoll_wait(poll_fd, ready, MOST_READY, 100);
    for (int i = 0; i < count; i++) {
        if (ready[i].data.u32 == RELAY) {
            relay_take();
            continue;
        }
        process((int)ready[i].data.u32, ready[i].events);
        prepare((int)ready[i].data.u32);
    }
}

void until(const int *count, int wanted)
{
    while (*count < wanted)
        turn();
}

void settle(void)
{
    while (outstanding > 0)
        turn();
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static void quiet(zhandle_t *zh, int type, int state, const char *path, void *with)
{
    (void)zh, (void)path, (void)with;
    if (type == ZOO_SESSION_EVENT && state == ZOO_EXPIRED_SESSION_STATE)
        must(ZSESSIONEXPIRED);
}

zhandle_t *open_session(const char *hosts)
{
    must(handle_count == MOST_SESSIONS ? ZSYSTEMERROR : ZOK);
    if (poll_fd < 0)
        start_polling();
    zhandle_t *zh = zookeeper_init(hosts, quiet, session_ms, NULL, NULL, 0);
    must(zh == NULL ? ZSYSTEMERROR : ZOK);
    zoo_set_servers_resolution_delay(zh, -1); /* never look names up again */
    handles[handle_count++] = zh;
    prepare(handle_count - 1);
    while (zoo_state(zh) != ZOO_CONNECTED_STATE)
        turn();
    return zh;
}

void close_sessions(void)
{
    for (int i = 0; i < handle_count; i++)
        zookeeper_close(handles[i]);
}

static void on_string(int rc, const char *value, const void *with)
{
    (void)value, (void)with;
    must(rc == ZNODEEXISTS ? ZOK : rc);
    outstanding--;
}

void make_node(zhandle_t *zh, const char *path)
{
    outstanding++;
    must(zoo_acreate(zh, path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0, on_string, NULL));
    settle();
}
