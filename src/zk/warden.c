/*
 * 1. When the first connection is proved, start a guardian (spawn.c), and tell it the session and
 *    the servers.
 * 2. When a later connection is proved, tell it again: another server may be the best one to ask
 *    now.
 * 3. At every heartbeat, check whether it still runs.
 * 4. When the handle ends, tell it to go.
 *
 * What can go wrong: a guardian cannot be started, or is killed. Then the session behaves as
 * without one: it ends by its timeout. If the process dies before step 4, the guardian ends the
 * session, which is its purpose.
 *
 * The guardian never writes. So all that can be read from our end is the end of the stream, or the
 * line that says why it could not be started. In the latter case the next connection tries again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/warden.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guardian/order.h"
#include "zk/handle.h"
#include "zk/report.h"
#include "zk/spawn.h"

/* ---- The order ------------------------------------------------------------------------------ */

static void add_server(struct zr_guardian_order *order, const struct sockaddr *address,
                       socklen_t length)
{
    struct zr_guardian_server *server = &order->servers[order->server_count];
    if (order->server_count == ZR_GUARDIAN_SERVERS || length > sizeof server->address)
        return;
    memcpy(&server->address, address, length);
    server->length = length;
    order->server_count++;
}

/* "1.2.3.4:2181" or "::1:2181". borrows: text. */
static void add_numeric(struct zr_guardian_order *order, const char *text, size_t length)
{
    char host[ZR_RESOLVER_ADDRESS];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    snprintf(host, sizeof host, "%.*s", (int)length, text);
    char *colon = strrchr(host, ':');
    if (colon == NULL)
        return;
    *colon = '\0';
    if (getaddrinfo(host, colon + 1, &hints, &found) == 0) {
        add_server(order, found->ai_addr, found->ai_addrlen);
        freeaddrinfo(found);
    }
}

/* The server that we are connected to comes first, then all of them. */
static void list_servers(struct zr_guardian_order *order, const struct zr_handle *handle)
{
    struct sockaddr_storage peer;
    socklen_t length = sizeof peer;
    if (getpeername(handle->client.fd, (struct sockaddr *)&peer, &length) == 0)
        add_server(order, (struct sockaddr *)&peer, length);
    const char *text = handle->addresses;
    while (text != NULL && *text != '\0') {
        const char *end = strchrnul(text, ',');
        add_numeric(order, text, (size_t)(end - text));
        text = *end == ',' ? end + 1 : end;
    }
}

/* Never waits. A guardian that is stopped knows at least the first order. */
static void send_order(const struct zr_warden *warden, const struct zr_guardian_order *order)
{
    send(warden->fd, order, sizeof *order, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- Its life ------------------------------------------------------------------------------- */

void zr_warden_tell(struct zr_handle *handle)
{
    struct zr_warden *warden = &handle->warden;
    struct zr_guardian_order order = {.magic = ZR_GUARDIAN_MAGIC,
                                      .task = ZR_GUARD,
                                      .timeout_ms = handle->client.timeout_ms,
                                      .session_id = handle->client.session_id};
    char problem[ZR_SPAWN_PROBLEM] = "";
    warden->news = false;
    if (warden->fd < 0)
        warden->fd = zr_spawn_guardian(problem);
    if (warden->fd < 0) {
        zr_report_note(handle, 'W', problem);
        return;
    }
    memcpy(order.password, handle->client.password, sizeof order.password);
    list_servers(&order, handle);
    send_order(warden, &order);
    explicit_bzero(&order, sizeof order);
}

/* As recv. If the other end was closed with unread orders in it, the first recv reports only
   that, and the next one returns what was sent before. */
static ssize_t receive(int fd, char *buffer, size_t size)
{
    ssize_t length = recv(fd, buffer, size, MSG_DONTWAIT);
    if (length < 0 && errno == ECONNRESET)
        length = recv(fd, buffer, size, MSG_DONTWAIT);
    return length;
}

void zr_warden_look(struct zr_handle *handle)
{
    struct zr_warden *warden = &handle->warden;
    char problem[ZR_SPAWN_PROBLEM];
    if (warden->fd < 0)
        return;
    ssize_t length = receive(warden->fd, problem, sizeof problem);
    if (length < 0 && errno == EAGAIN)
        return;
    close(warden->fd);
    warden->fd = -1;
    if (length == (ssize_t)sizeof problem) {
        zr_report_note(handle, 'W', problem);
        return;
    }
    zr_report_note(handle, 'W', "the session's guardian has ended; the session starts another one");
    zr_warden_tell(handle);
}

void zr_warden_dismiss(struct zr_handle *handle, bool over)
{
    struct zr_warden *warden = &handle->warden;
    if (warden->fd < 0)
        return;
    const struct zr_guardian_order order = {.magic = ZR_GUARDIAN_MAGIC,
                                            .task = over ? ZR_GUARD_NOTHING : ZR_GUARD_BRIEFLY};
    send_order(warden, &order);
    close(warden->fd);
    warden->fd = -1;
}
