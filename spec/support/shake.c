/*
 * A machine on which nothing comes when it is expected, to be preloaded: `make shake`. It finds
 * specs that depend on who is quicker.
 *
 * - What a session sends and receives is held back for a while, for each connection on its own:
 * half of them are slow, and half of the frames pass at once. The order on one connection stays.
 * - A process begins late, so its pid is there before it does anything.
 *
 * SHAKE is the longest time in milliseconds that a slow connection holds something back, and
 * SHAKE_START that after which a process begins. Only what a thread connects that is not the first
 * of its process is held back: the connections of the module's I/O thread. So one that the host's
 * thread makes again (src/zk/direct.c) is not, and none of a server. Behind the specs' proxy, it is
 * the proxy that holds requests back (dev/proxy/connection.lua).
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST 4096 /* descriptors */
#define FEW 64
#define OPEN_US 2000 /* so long everything passes after a pause */

struct gate {
    _Atomic int64_t opens_us, shuts_us;
};

/* Sending and waiting are two threads' at times: only the gate for what is sent is shared. */
static struct connection {
    bool shaken; /* set by connect */
    bool heard;  /* the handshake is over: only then the client library can wait to send */
    int64_t most_us;
    struct gate in, out;
} connections[MOST];

static int (*real_poll)(struct pollfd *, nfds_t, int);
static int (*real_connect)(int, const struct sockaddr *, socklen_t);
static ssize_t (*real_recv)(int, void *, size_t, int);
static ssize_t (*real_send)(int, const void *, size_t, int);
static int (*real_close)(int);
static int64_t longest_us;
static _Thread_local unsigned seed;

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t at_most(int64_t most)
{
    if (seed == 0)
        seed = (unsigned)now_us() ^ (unsigned)getpid() << 16;
    return most > 0 ? rand_r(&seed) % (most + 1) : 0;
}

static int64_t number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) * 1000 : 0;
}

static void find(void *function, const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

/* The constructor of another library may call what is preloaded before ours runs. */
static void find_all(void)
{
    if (real_close != NULL)
        return;
    find(&real_poll, "poll");
    find(&real_connect, "connect");
    find(&real_recv, "recv");
    find(&real_send, "send");
    find(&real_close, "close");
}

__attribute__((constructor)) static void begin(void)
{
    find_all();
    if (strcmp(program_invocation_short_name, "java") == 0)
        return;
    longest_us = number("SHAKE");
    if (at_most(1) == 1)
        usleep((useconds_t)at_most(number("SHAKE_START")));
}

static struct connection *shaken(int fd)
{
    return fd >= 0 && fd < MOST && connections[fd].shaken ? &connections[fd] : NULL;
}

/* ---- Gates ----------------------------------------------------------------------------------- */

static bool is_open(const struct gate *gate, int64_t now)
{
    return now >= gate->opens_us && now < gate->shuts_us;
}

/* Something is there: it passes at once, or the gate is shut for a while. */
static bool passes(struct connection *connection, struct gate *gate)
{
    int64_t now = now_us();
    if (now >= gate->shuts_us) {
        gate->opens_us = now + (at_most(1) == 1 ? at_most(connection->most_us) : 0);
        gate->shuts_us = gate->opens_us + at_most(OPEN_US);
    }
    return now >= gate->opens_us;
}

static ssize_t nothing(void)
{
    errno = EAGAIN;
    return -1;
}

/* ---- What is preloaded ----------------------------------------------------------------------- */

__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr *to,
                                                   socklen_t length)
{
    find_all();
    if (longest_us > 0 && fd >= 0 && fd < MOST && gettid() != getpid() && to->sa_family != AF_UNIX)
        connections[fd] = (struct connection){
            .shaken = true, .most_us = at_most(1) == 1 ? longest_us : longest_us / 10};
    return real_connect(fd, to, length);
}

__attribute__((visibility("default"))) int close(int fd)
{
    find_all();
    if (shaken(fd) != NULL)
        connections[fd].shaken = false;
    return real_close(fd);
}

__attribute__((visibility("default"))) ssize_t recv(int fd, void *to, size_t size, int flags)
{
    find_all();
    struct connection *connection = shaken(fd);
    char byte;
    if (connection != NULL && !is_open(&connection->in, now_us()) &&
        real_recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0 &&
        !passes(connection, &connection->in))
        return nothing();
    ssize_t got = real_recv(fd, to, size, flags);
    if (connection != NULL && got > 0)
        connection->heard = true;
    return got;
}

__attribute__((visibility("default"))) ssize_t send(int fd, const void *from, size_t size,
                                                    int flags)
{
    find_all();
    struct connection *connection = shaken(fd);
    if (connection != NULL && connection->heard && !passes(connection, &connection->out))
        return nothing();
    return real_send(fd, from, size, flags);
}

/* Those whose gate is shut are not polled for it. gives: until when. */
static int64_t mask(struct pollfd *polls, nfds_t count, int64_t until)
{
    int64_t now = now_us();
    for (nfds_t i = 0; i < count; i++) {
        struct connection *connection = shaken(polls[i].fd);
        if (connection == NULL)
            continue;
        bool in = connection->in.opens_us > now, out = connection->out.opens_us > now;
        if (in && (polls[i].events & POLLIN) && connection->in.opens_us < until)
            until = connection->in.opens_us;
        if (out && (polls[i].events & POLLOUT) && connection->out.opens_us < until)
            until = connection->out.opens_us;
        polls[i].events &= (short)~((in ? POLLIN : 0) | (out ? POLLOUT : 0));
        if (in)
            polls[i].fd = out || !(polls[i].events & POLLOUT) ? -1 : polls[i].fd;
    }
    return until;
}

/* What is there but does not pass is taken from the result. gives: how many are left. */
static int sift(struct pollfd *polls, nfds_t count)
{
    int left = 0;
    for (nfds_t i = 0; i < count; i++) {
        struct connection *connection = shaken(polls[i].fd);
        if (connection != NULL && polls[i].revents == POLLIN &&
            !passes(connection, &connection->in))
            polls[i].revents = 0;
        left += polls[i].revents != 0;
    }
    return left;
}

static bool any_shaken(const struct pollfd *polls, nfds_t count)
{
    for (nfds_t i = 0; i < count; i++)
        if (shaken(polls[i].fd) != NULL)
            return true;
    return false;
}

static int poll_once(struct pollfd *polls, nfds_t count, int64_t until)
{
    struct pollfd few[FEW];
    memcpy(few, polls, count * sizeof *polls);
    int64_t wake = mask(few, count, until), now = now_us();
    int wait_ms = wake == INT64_MAX ? -1 : wake <= now ? 0 : (int)((wake - now + 999) / 1000);
    int got = real_poll(few, count, wait_ms);
    int left = got > 0 ? sift(few, count) : got;
    for (nfds_t i = 0; i < count; i++)
        polls[i].revents = got > 0 ? few[i].revents : 0;
    return left;
}

__attribute__((visibility("default"))) int poll(struct pollfd *polls, nfds_t count, int timeout)
{
    find_all();
    if (count < 2 || count > FEW || !any_shaken(polls, count))
        return real_poll(polls, count, timeout);
    int64_t until = timeout < 0 ? INT64_MAX : now_us() + (int64_t)timeout * 1000;
    int left;
    do
        left = poll_once(polls, count, until);
    while (left == 0 && now_us() < until);
    return left;
}
