/* Sessions, and the loop that serves them. */
#include "floor.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define MOST_SESSIONS 2

int session_ms = 10000;
int outstanding;
static zhandle_t *handles[MOST_SESSIONS];
static int handle_count;

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

/* gives: the time to wait at most, in milliseconds. */
static int prepare(zhandle_t *zh, struct pollfd *poll_of)
{
    int fd, interest;
    struct timeval limit;
    must(zookeeper_interest(zh, &fd, &interest, &limit));
    int events =
        (interest & ZOOKEEPER_READ ? POLLIN : 0) | (interest & ZOOKEEPER_WRITE ? POLLOUT : 0);
    *poll_of = (struct pollfd){.fd = fd, .events = (short)events};
    return (int)(limit.tv_sec * 1000 + limit.tv_usec / 1000);
}

static void process(zhandle_t *zh, short revents)
{
    int events =
        (revents & POLLIN ? ZOOKEEPER_READ : 0) | (revents & POLLOUT ? ZOOKEEPER_WRITE : 0);
    if (events == 0 && zoo_state(zh) == ZOO_CONNECTED_STATE)
        return;
    int rc = zookeeper_process(zh, events);
    if (rc != ZNOTHING)
        must(rc);
}

void turn(void)
{
    struct pollfd polls[MOST_SESSIONS + 1];
    int wait = 100;
    for (int i = 0; i < handle_count; i++) {
        int own = prepare(handles[i], &polls[i]);
        wait = own < wait ? own : wait;
    }
    polls[handle_count] = (struct pollfd){.fd = relay_fd, .events = POLLIN};
    poll(polls, (nfds_t)handle_count + 1, wait);
    for (int i = 0; i < handle_count; i++)
        process(handles[i], polls[i].revents);
    if (polls[handle_count].revents != 0)
        relay_take();
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
    zhandle_t *zh = zookeeper_init(hosts, quiet, session_ms, NULL, NULL, 0);
    must(zh == NULL ? ZSYSTEMERROR : ZOK);
    zoo_set_servers_resolution_delay(zh, -1); /* never look names up again */
    handles[handle_count++] = zh;
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
