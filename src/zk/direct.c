/*
 * To pass a request to the I/O thread, which waits in poll, wakes a thread, and so does its answer:
 * that takes as long as all the rest. So the host's thread does both itself while few requests are
 * in flight.
 *
 * 1. It takes the turn (loop.h), which is free while the I/O thread waits.
 * 2. It gives the request to the client library. The I/O thread waits on for the answer.
 * 3. If the host waits in a call of ours, and the handle rests (rest.h), the host waits for its
 *    socket too, and the I/O thread no longer does.
 * 4. The answer comes: with the turn, the host lets the library receive. It no longer waits, so the
 *    I/O thread is to wait for the socket again.
 *
 * What can go wrong: what must be waited for has changed. The socket took only a part, or the
 * connection broke, or something is due earlier. Then the I/O thread is woken up. It may take the
 * handle back at any time, for a heartbeat: then the host finds nothing to do in 4. A signal comes
 * here: its handler must not call us, as it must not call Lua. The host's thread is canceled here
 * (pthread_cancel): it would keep the turn, so no program may do that to a thread that runs Lua.
 *
 * While many requests are in flight, the I/O thread works beside the host, and sends several at
 * once. TLS is its alone: OpenSSL keeps its errors for each thread, and the host may use OpenSSL
 * too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/direct.h"

#include "zk/client.h"
#include "zk/clock.h"
#include "zk/interest.h"
#include "zk/loop.h"
#include "zk/rest.h"

/* A connection with a fault is the I/O thread's, which replaces it. */
static bool sound(const struct zr_client *client)
{
    return client->proved && !client->unfit;
}

/* What the I/O thread waits for, on behalf of a handle. */
struct waiting {
    int fd;
    short events;
    int64_t until_us;
};

static struct waiting waiting_for(const struct zr_handle *handle)
{
    int64_t rest = handle->rest_until_us;
    return (struct waiting){.fd = handle->client.fd,
                            .events = handle->client.events,
                            .until_us = rest != 0 ? rest : handle->io->due_us};
}

/* The host may call the library for the handle. If the I/O thread should have woken up by now, the
   process has been paused: then that thread looks first what has become of the connection. */
static bool may(const struct zr_handle *handle)
{
    const struct zr_client *client = &handle->client;
    return handle->io->waits && client->secure == NULL && sound(client) &&
           client->pending < ZR_DIRECT_FEW && zr_now_us() < waiting_for(handle).until_us;
}

/* ---- Sending ------------------------------------------------------------------------------- */

/* Posted requests go first. Only this thread posts for the handle, and only during a turn they are
   taken: so the list may be read here without the outbox's mutex. */
static bool is_next(const struct zr_handle *handle)
{
    return zr_list_empty(&handle->outlet.posted) && zr_list_empty(&handle->todo) &&
           zr_list_empty(&handle->out);
}

static bool may_send(const struct zr_handle *handle, const struct zr_request *request)
{
    return may(handle) && zr_interest_watched(handle) && handle->close_by_us == INT64_MAX &&
           request->op != ZR_OP_ADD_AUTH && is_next(handle);
}

/* Gives the handle a turn if it has to wait for something else than before. To show the outlet does
   that, also if the handle rests. */
static bool goes_on(struct zr_handle *handle, struct waiting before)
{
    const struct zr_client *client = &handle->client;
    int64_t due = zr_interest_due_us(handle, zr_now_us());
    if (due >= before.until_us && client->fd == before.fd && client->events == before.events &&
        sound(client))
        return true;
    handle->poll_index = -1; /* what poll says is about another socket */
    zr_outlet_post(&handle->io->outbox, &handle->outlet, NULL);
    return false;
}

static void watch_again(struct zr_handle *handle)
{
    if (!zr_rest_watch(handle->io, handle, true))
        zr_outlet_post(&handle->io->outbox, &handle->outlet, NULL);
}

static void send_it(struct zr_handle *handle, struct zr_request *request)
{
    struct waiting before = waiting_for(handle);
    bool rests = handle->rest_until_us != 0;
    if (rests)
        zr_rest_watch(handle->io, handle, false);
    zr_client_submit(handle, request);
    if (goes_on(handle, before) && rests)
        watch_again(handle);
}

bool zr_direct_send(struct zr_handle *handle, struct zr_request *request)
{
    struct zr_io *io = handle->io;
    if (pthread_mutex_trylock(&io->turn) != 0)
        return false;
    bool sends = may_send(handle, request);
    if (sends)
        send_it(handle, request);
    pthread_mutex_unlock(&io->turn);
    return sends;
}

/* ---- Receiving ----------------------------------------------------------------------------- */

static bool may_read(struct zr_handle *handle)
{
    handle->host_waits = handle->client.secure == NULL;
    return may(handle) && handle->rest_until_us != 0 && handle->client.events == POLLIN;
}

int zr_direct_watch(struct zr_handle *handle)
{
    struct zr_io *io = handle->io;
    if (pthread_mutex_trylock(&io->turn) != 0)
        return -1;
    handle->host_reads = may_read(handle) && zr_rest_watch(io, handle, false);
    int fd = handle->host_reads ? handle->client.fd : -1;
    pthread_mutex_unlock(&io->turn);
    return fd;
}

/* False: it needs a turn. */
static bool receive(struct zr_handle *handle, short revents)
{
    struct waiting before = waiting_for(handle);
    zr_client_process(handle, revents);
    if (!zr_interest_may_wait(handle))
        zr_loop_hand_over(handle);
    return goes_on(handle, before);
}

void zr_direct_receive(struct zr_handle *handle, short revents)
{
    struct zr_io *io = handle->io;
    pthread_mutex_lock(&io->turn);
    if (handle->host_reads && (revents == 0 || receive(handle, revents)))
        watch_again(handle);
    handle->host_reads = false;
    pthread_mutex_unlock(&io->turn);
}
