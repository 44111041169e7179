/*
 * 1. The library is connected. We do not trust that yet, except that a shorter timeout may have
 *    shortened the lease.
 * 2. A request through the leader is answered: CONNECTED is reported, and the lease counts from the
 *    moment this connect began.
 * 3. Heartbeats extend the lease (lease.c).
 * 4. The connection is lost: SUSPENDED, if CONNECTED was reported.
 * 5. At the next handshake the library learns whether the session is over.
 *
 * What can go wrong: the other side is a read-only server, or is not ZooKeeper, or sends nonsense.
 * Then the library's handle is unfit, because it has taken that nonsense over, and it is replaced.
 * It is also replaced if a session ends of which the host was never told.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/connection.h"

#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

#include "zk/clock.h"

/* No server has sessions this long; a number this large is text that was read as a number. Within a
   timeout this short no answer would come: the library would connect again and again. */
#define LONGEST_TIMEOUT_MS (24 * 60 * 60 * 1000)
#define SHORTEST_TIMEOUT_MS 100

/* The host may have closed the handle meanwhile and expect nothing; it checks that first. */
static void publish(struct zr_handle *handle)
{
    atomic_store_explicit(&handle->lease_us, handle->lease.deadline_us, memory_order_release);
}

void zr_connection_learn_peer(struct zr_client *client)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char host[56], port[8];
    client->peer[0] = '\0';
    if (getpeername(client->fd, (struct sockaddr *)&address, &length) != 0 ||
        getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    const char *form = address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s";
    snprintf(client->peer, sizeof client->peer, form, host, port);
}

void zr_connection_up(struct zr_handle *handle, bool writable, int32_t timeout_ms)
{
    struct zr_client *client = &handle->client;
    client->up = true;
    zr_handshake_heard(&client->handshake, zr_now_us());
    client->asked = client->proved = false;
    client->incoming = (struct zr_incoming){.known = 0};
    client->timeout_ms = timeout_ms;
    client->unfit |= !writable || timeout_ms <= 0 || timeout_ms > LONGEST_TIMEOUT_MS;
    if (client->unfit)
        return;
    zr_lease_granted(&handle->lease, client->began_us, (int64_t)timeout_ms * 1000);
    publish(handle);
    client->unfit = timeout_ms < SHORTEST_TIMEOUT_MS;
}

/* A handshake passes through the leader, but only that of a new session through the quorum. */
static void prove(struct zr_handle *handle, int64_t session_id)
{
    struct zr_client *client = &handle->client;
    bool fresh = client->session_id == 0;
    client->session_id = session_id;
    client->proved = true;
    if (fresh || !handle->write_heartbeat)
        zr_lease_handshake(&handle->lease, client->began_us, zr_now_us());
    publish(handle);
    zr_connection_learn_peer(client);
    zr_report_connected(handle);
    handle->warden.news = handle->warden.wanted;
}

void zr_connection_answer(struct zr_handle *handle, bool answered, int64_t session_id)
{
    struct zr_client *client = &handle->client;
    bool proof = answered && !handle->write_heartbeat;
    zr_lease_answered(&handle->lease, proof, zr_now_us());
    if (!client->up || client->dead)
        return;
    if (!answered || session_id == 0)
        client->unfit = true;
    else if (client->session_id != 0 && client->session_id != session_id)
        zr_connection_over(handle, ZR_MSG_EXPIRED);
    else
        prove(handle, session_id);
}

void zr_connection_beaten(struct zr_handle *handle, bool proof)
{
    zr_lease_answered(&handle->lease, proof, zr_now_us());
    publish(handle);
}

void zr_connection_lost(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    client->up = client->asked = client->proved = false;
    zr_report_suspended(handle);
}

void zr_connection_over(struct zr_handle *handle, enum zr_message_kind kind)
{
    struct zr_client *client = &handle->client;
    client->up = client->asked = client->proved = false;
    if (kind == ZR_MSG_EXPIRED && client->session_id == 0) {
        client->unfit = true;
        return;
    }
    client->dead = true;
    if (kind == ZR_MSG_EXPIRED)
        zr_warden_dismiss(handle, true);
    zr_report_final(handle, kind);
}

int64_t zr_connection_due_us(const struct zr_handle *handle)
{
    const struct zr_client *client = &handle->client;
    if (!client->up || client->dead || client->unfit || handle->close_by_us != INT64_MAX)
        return INT64_MAX;
    if (!client->asked)
        return 0;
    return client->proved ? zr_lease_next(&handle->lease) : INT64_MAX;
}
