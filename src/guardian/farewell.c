/*
 * 1. A connection to the first server that accepts one. 2. In one flight: the handshake, with the
 * session's id and password, and the request to close it. So the session is not touched without
 * being closed, which would lengthen its life, and it takes one round trip. The handshake names no
 * transaction as seen, so that no server refuses it for lagging behind. 3. The answers: to the
 * handshake (a timeout of 0: the session is over already), then to the close.
 *
 * What can go wrong: the server is gone too, is looking for a leader, or hangs. Then the next one
 * is tried, and after all of them the first again. Whenever the answer is missing it is asked
 * again: a session that was closed meanwhile is refused, which is an answer.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "guardian/farewell.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ATTEMPT_MS 1000 /* for one server */
#define FIRST_PAUSE_MS 5
#define LONGEST_PAUSE_MS 500

#define CLOSE_SESSION (-11)
#define SESSION_EXPIRED (-112)

struct __attribute__((packed)) flight {
    uint32_t handshake_length;
    int32_t protocol;
    int64_t last_zxid;
    int32_t timeout_ms;
    int64_t session_id;
    uint32_t password_length;
    char password[16];
    uint8_t read_only;
    uint32_t close_length;
    int32_t xid;
    int32_t type;
};

struct __attribute__((packed)) welcome {
    int32_t protocol;
    int32_t timeout_ms;
    int64_t session_id;
    uint32_t password_length;
    char password[16];
    uint8_t read_only; /* old servers leave it out */
};

struct __attribute__((packed)) goodbye {
    int32_t xid;
    int64_t zxid;
    int32_t error;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- The wire ------------------------------------------------------------------------------ */

static bool ready(int fd, short events, int64_t by_ms)
{
    struct pollfd one = {.fd = fd, .events = events};
    int64_t left = by_ms - now_ms();
    return left > 0 && poll(&one, 1, (int)left) == 1;
}

/* gives: a connected socket, or -1. */
static int reach(const struct zr_guardian_server *server, int64_t by_ms)
{
    int fd = socket(server->address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, &server->address.any, server->length) == 0)
        return fd;
    int error = errno;
    socklen_t size = sizeof error;
    if (error == EINPROGRESS && ready(fd, POLLOUT, by_ms) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
        return fd;
    close(fd);
    return -1;
}

static bool receive(int fd, void *to, size_t length, int64_t by_ms)
{
    for (size_t got = 0; got < length;) {
        if (!ready(fd, POLLIN, by_ms))
            return false;
        ssize_t more = recv(fd, (char *)to + got, length - got, 0);
        if (more <= 0)
            return false;
        got += (size_t)more;
    }
    return true;
}

/* One packet of `least` to `room` bytes; what it leaves out is zero. */
static bool receive_packet(int fd, void *to, size_t least, size_t room, int64_t by_ms)
{
    uint32_t length;
    memset(to, 0, room);
    if (!receive(fd, &length, sizeof length, by_ms))
        return false;
    length = be32toh(length);
    return length >= least && length <= room && receive(fd, to, length, by_ms);
}

/* ---- The talk ------------------------------------------------------------------------------ */

/* It is less than any socket's buffer, so it leaves as a whole or not at all. */
static bool send_flight(int fd, const struct zr_guardian_order *order)
{
    struct flight flight = {
        .handshake_length = htobe32(offsetof(struct flight, close_length) - sizeof(uint32_t)),
        .timeout_ms = (int32_t)htobe32((uint32_t)order->timeout_ms),
        .session_id = (int64_t)htobe64((uint64_t)order->session_id),
        .password_length = htobe32(sizeof flight.password),
        .close_length = htobe32(2 * sizeof(int32_t)),
        .xid = (int32_t)htobe32(1),
        .type = (int32_t)htobe32((uint32_t)CLOSE_SESSION),
    };
    memcpy(flight.password, order->password, sizeof flight.password);
    return send(fd, &flight, sizeof flight, MSG_NOSIGNAL) == (ssize_t)sizeof flight;
}

/* True: the session is over. */
static bool await_end(int fd, const struct zr_guardian_order *order, int64_t by_ms)
{
    struct welcome welcome;
    struct goodbye goodbye;
    if (!receive_packet(fd, &welcome, offsetof(struct welcome, read_only), sizeof welcome, by_ms))
        return false;
    if (welcome.timeout_ms == 0 ||
        be64toh((uint64_t)welcome.session_id) != (uint64_t)order->session_id)
        return true;
    if (welcome.read_only || !receive_packet(fd, &goodbye, sizeof goodbye, sizeof goodbye, by_ms))
        return false;
    int32_t error = (int32_t)be32toh((uint32_t)goodbye.error);
    return error == 0 || error == SESSION_EXPIRED;
}

static bool end_at(const struct zr_guardian_server *server, const struct zr_guardian_order *order,
                   int64_t by_ms)
{
    if (by_ms > now_ms() + ATTEMPT_MS)
        by_ms = now_ms() + ATTEMPT_MS;
    int fd = reach(server, by_ms);
    bool over = fd >= 0 && send_flight(fd, order) && await_end(fd, order, by_ms);
    if (fd >= 0)
        close(fd);
    return over;
}

void zr_farewell(const struct zr_guardian_order *order)
{
    int64_t by_ms = now_ms() + order->timeout_ms;
    int pause_ms = FIRST_PAUSE_MS;
    while (now_ms() < by_ms) {
        for (uint32_t i = 0; i < order->server_count; i++)
            if (end_at(&order->servers[i], order, by_ms))
                return;
        poll(NULL, 0, pause_ms);
        if (pause_ms < LONGEST_PAUSE_MS)
            pause_ms *= 2;
    }
}
