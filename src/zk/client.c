/*
 * The single-threaded client library, driven by our own loop.
 *
 * 1. Each turn asks zookeeper_interest what the library waits for (in that call it also connects,
 *    pings and times out). When the library has come to the end of its list of servers, it wants to
 *    pause, but asked again it would connect at once: it is asked when the pause is over.
 * 2. When the socket is ready, zookeeper_process receives. The library then calls the completions
 *    and the one watcher, which only copy.
 * 3. Requests are submitted after that, never from inside a callback.
 *
 * What can go wrong: if a send fails inside a submission, the library closes the socket and does
 * not report it. A half-sent request would then open the next connection, and the server would take
 * user data for requests. So we check the state after each submission, and purge the connection:
 * the next attempt to connect is cut, which makes the library fail everything and clear its queues.
 *
 * A server that is just starting may never answer the handshake, and a server never answers the
 * requests of a session that ended while it was attached again: it drops them. Such an attempt is
 * cut after a while (core/handshake.h).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/client.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "zk/client_parts.h"
#include "zk/clock.h"
#include "zk/completion.h"
#include "zk/connection.h"
#include "zk/decode.h"
#include "zk/receive.h"
#include "zk/reply.h"

/* Not in every release of the library that we run with: then it is null. */
#pragma weak zoo_set_servers_resolution_delay

#define MOST_MESSAGES 256 /* in one turn */
#define TURN_US 100000    /* what to wait when the library does not say how long */

/* This znode never exists: deleting it is an error, and the quorum agrees on errors too. Its
   parent does not exist either: otherwise a server that checks permissions itself
   (enableEagerACLCheck) would answer without its leader. */
#define HEARTBEAT_PATH "/zkrecipes-heartbeat/none"

/* The library calls back only inside a call of ours, and does not say for which handle: stores
   it. */
static zhandle_t *enter(struct zr_handle *handle)
{
    zr_completion_handle = handle;
    zr_secure_enter(handle->client.secure);
    return handle->client.zh;
}

/* ---- Submitting ---------------------------------------------------------------------------- */

/* Call it after everything that sends: purges a connection that was lost without a report. */
static void look_for_silent_loss(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    if (zoo_state(client->zh) != ZOO_NOTCONNECTED_STATE)
        return;
    zr_client_forget_socket(handle);
    client->purging = true;
    zr_connection_lost(handle);
    zr_client_prepare(handle, zr_now_us());
}

bool zr_client_ready(const struct zr_handle *handle, const struct zr_request *request)
{
    const struct zr_client *client = &handle->client;
    if (request->op != ZR_OP_ADD_AUTH || !client->proved)
        return true;
    return !client->authenticating && !client->sending;
}

void zr_client_submit(struct zr_handle *handle, struct zr_request *request)
{
    struct zr_client *client = &handle->client;
    if (!handle->report.connected || !client->proved) {
        zr_handle_refuse(handle, request, ZR_CONNECTION_LOSS);
        return;
    }
    enter(handle);
    int rc = zr_client_call(handle, request);
    client->sending = true;
    if (rc == ZOK)
        client->pending++;
    else
        zr_handle_refuse(handle, request, zr_reply_refusal(rc));
    look_for_silent_loss(handle);
}

void zr_client_beat(struct zr_handle *handle, int64_t now_us)
{
    struct zr_client *client = &handle->client;
    zhandle_t *zh = enter(handle);
    bool first = !client->asked;
    client->asked = true;
    if (!zr_lease_sent(&handle->lease, now_us))
        return;
    int rc;
    if (handle->write_heartbeat && !first)
        rc = zoo_adelete(zh, HEARTBEAT_PATH, 0, zr_on_deleted_beat, NULL);
    else
        rc = zoo_async(zh, "/", first ? zr_client_on_proof : zr_on_synced_beat, NULL);
    if (rc == ZOK)
        client->pending++;
    else
        zr_lease_unsent(&handle->lease);
    if (rc != ZOK && first)
        client->unfit = true; /* no memory, so the connection can never be proved */
    look_for_silent_loss(handle);
}

void zr_client_cork(struct zr_handle *handle, bool on)
{
    int value = on;
    if (handle->client.fd >= 0)
        setsockopt(handle->client.fd, IPPROTO_TCP, TCP_CORK, &value, sizeof value);
}

/* ---- The connection ------------------------------------------------------------------------ */

static zhandle_t *init(struct zr_handle *handle)
{
    clientid_t id = {.client_id = handle->client.session_id};
    memcpy(id.passwd, handle->client.password, sizeof id.passwd);
    return zookeeper_init2(handle->addresses, zr_client_on_event, handle->timeout_ms,
                           id.client_id != 0 ? &id : NULL, handle, ZOO_NO_LOG_CLIENTENV,
                           zr_client_on_log);
}

static void close_library(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    zookeeper_close(enter(handle));
    client->zh = NULL;
    client->fd = -1;
    client->up = client->asked = client->proved = client->purging = client->unfit = false;
    zr_secure_enter(NULL); /* the handle may be freed soon */
}

/* False: memory is exhausted. The session must not go on without one of them. */
static bool add_credentials(struct zr_handle *handle)
{
    int rc = ZOK;
    for (struct zr_credential *one = handle->credentials; one != NULL && rc == ZOK; one = one->next)
        rc = zoo_add_auth(handle->client.zh, one->scheme, one->bytes.at, (int)one->bytes.length,
                          NULL, NULL);
    return rc == ZOK;
}

bool zr_client_open(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    if (client->session_id == 0)
        zr_lease_init(&handle->lease, handle->lease.tick_us); /* the timeout of a replaced handle */
    enter(handle);
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    zoo_deterministic_conn_order(1);
    client->zh = init(handle);
    client->paused_until_us = 0;
    if (client->zh == NULL) {
        zr_secure_enter(NULL);
        return false;
    }
    if (!add_credentials(handle)) {
        close_library(handle);
        return false;
    }
    if (zoo_set_servers_resolution_delay != NULL)
        zoo_set_servers_resolution_delay(client->zh, -1);
    return true;
}

static int process_one(struct zr_client *client, int events)
{
    zr_receiving = client->up;
    zr_decode_begin();
    int rc = zookeeper_process(client->zh, events);
    zr_decode_end();
    zr_receiving = false;
    return rc;
}

/* A bounded number of messages, so that no handle starves the others. */
static int process(struct zr_client *client, int events)
{
    int rc = process_one(client, events);
    for (int left = MOST_MESSAGES; rc == ZOK && left > 0 && !client->unfit; left--)
        rc = process_one(client, ZOOKEEPER_READ);
    return rc;
}

bool zr_client_cut(struct zr_client *client)
{
    shutdown(client->fd, SHUT_RDWR);
    if (client->secure != NULL)
        zr_secure_give_up(client->secure);
    client->cutting = true;
    int rc = process(client, ZOOKEEPER_READ | ZOOKEEPER_WRITE);
    client->cutting = false;
    zr_client_forget_socket(ZR_HOLDER(client, struct zr_handle, client));
    return rc != ZOK && rc != ZNOTHING;
}

static void began(struct zr_handle *handle, int64_t now_us)
{
    struct zr_client *client = &handle->client;
    client->began_us = now_us;
    zr_handshake_begin(&client->handshake, now_us,
                       client->timeout_ms > 0 ? client->timeout_ms : handle->timeout_ms);
    fcntl(client->fd, F_SETFD, FD_CLOEXEC);
}

static short events_of(int interest)
{
    return (short)((interest & ZOOKEEPER_READ ? POLLIN : 0) |
                   (interest & ZOOKEEPER_WRITE ? POLLOUT : 0));
}

/* After a connection has just failed, the library is asked again at once. */
static int64_t wait_of(int rc, const struct timeval *wait)
{
    if (rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT)
        return 0;
    return rc == ZOK ? (int64_t)wait->tv_sec * 1000000 + wait->tv_usec : TURN_US;
}

/* A purge is over when the library has noticed the cut and has given everything back. */
static void purge(struct zr_client *client)
{
    bool noticed = client->fd >= 0 ? zr_client_cut(client) : client->wait_us == 0;
    client->purging = !noticed || client->pending > 0;
}

/* True during a pause of the library. Other handles of the process have turns meanwhile. */
static bool pauses(struct zr_client *client, int64_t now_us)
{
    if (client->purging || now_us >= client->paused_until_us)
        return false;
    client->wait_us = client->paused_until_us - now_us;
    return true;
}

void zr_client_prepare(struct zr_handle *handle, int64_t now_us)
{
    struct zr_client *client = &handle->client;
    if (zr_client_rests(handle, now_us) || pauses(client, now_us))
        return;
    zhandle_t *zh = enter(handle);
    int before = zoo_state(zh), fd = -1, interest = 0;
    struct timeval wait = {0};
    int rc = zookeeper_interest(zh, &fd, &interest, &wait);
    client->fd = rc == ZOK ? fd : -1;
    client->events = events_of(rc == ZOK ? interest : 0);
    client->sending = (client->events & POLLOUT) != 0;
    client->wait_us = wait_of(rc, &wait);
    if (rc == ZOK && fd < 0 && !client->purging)
        client->paused_until_us = now_us + client->wait_us;
    zr_client_secure_prepare(handle);
    if (client->fd >= 0 && (before == 0 || before == ZOO_NOTCONNECTED_STATE))
        began(handle, now_us);
    if (client->purging)
        purge(client);
    else
        zr_client_look_for_silence(handle, now_us);
}

void zr_client_process(struct zr_handle *handle, short revents)
{
    struct zr_client *client = &handle->client;
    enter(handle);
    bool broken = (revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    int events = (revents & POLLIN || broken ? ZOOKEEPER_READ : 0) |
                 (revents & POLLOUT || broken ? ZOOKEEPER_WRITE : 0);
    if (!zr_client_secure_process(handle, &events))
        return;
    int rc = process(client, events);
    zr_client_look_for_nonsense(client, rc);
    if (rc != ZOK && rc != ZNOTHING)
        zr_client_forget_socket(handle);
}

int zr_client_part(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    if (client->sending ||
        !zr_client_polls(client, POLLOUT)) { /* otherwise the close would wait for it */
        zr_client_drop(handle);
        return -1;
    }
    int copy = fcntl(client->fd, F_DUPFD_CLOEXEC, 0);
    if (client->secure == NULL)
        shutdown(client->fd, SHUT_RD);
    close_library(handle);
    zr_client_flush(handle);
    return copy;
}

void zr_client_parted(struct zr_handle *handle)
{
    close(handle->parting_fd);
    handle->parting_fd = -1;
    if (handle->client.secure != NULL)
        zr_secure_drop(handle->client.secure);
}

void zr_client_drop(struct zr_handle *handle)
{
    struct zr_client *client = &handle->client;
    if (client->zh == NULL)
        return;
    enter(handle);
    if (client->fd >= 0 && client->unfit)
        shutdown(client->fd, SHUT_RDWR); /* and do not read the rest of the invalid data */
    else if (client->fd >= 0)
        zr_client_cut(client);
    close_library(handle);
    zr_client_forget_socket(handle);
}
