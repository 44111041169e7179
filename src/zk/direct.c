/*
 * To pass a request to the I/O thread, which waits in poll, wakes a thread: that takes as long as
 * all the rest. So the host's thread sends it itself.
 *
 * 1. It takes the turn (loop.h), which is free while the I/O thread waits.
 * 2. It gives the request to the client library. The I/O thread waits on for the answer.
 *
 * What can go wrong: what the I/O thread waits for has changed. The socket took only a part, or the
 * connection broke, or something is due earlier. Then it is woken up. A signal comes here: its
 * handler must not call us, as it must not call Lua.
 *
 * All else is the I/O thread's. While many requests are in flight, it works beside the host, and
 * sends several at once. TLS is its alone: OpenSSL keeps its errors for each thread, and the host
 * may use OpenSSL too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/direct.h"

#include "zk/client.h"
#include "zk/clock.h"
#include "zk/interest.h"
#include "zk/loop.h"

#define FEW 4 /* requests in flight */

/* Posted requests go first. Only this thread posts for the handle, and only during a turn they are
   taken: so the list may be read here without the outbox's mutex. */
static bool is_next(const struct zr_handle *handle)
{
    return zr_list_empty(&handle->outlet.posted) && zr_list_empty(&handle->todo) &&
           zr_list_empty(&handle->out);
}

static bool may_send(const struct zr_handle *handle, const struct zr_request *request)
{
    const struct zr_client *client = &handle->client;
    return handle->io->waits && zr_interest_watched(handle) && client->secure == NULL &&
           client->proved && client->pending < FEW && handle->close_by_us == INT64_MAX &&
           request->op != ZR_OP_ADD_AUTH && is_next(handle);
}

/* To show the outlet gives the handle a turn, also if it rests. */
static void send_it(struct zr_handle *handle, struct zr_request *request)
{
    struct zr_io *io = handle->io;
    const struct zr_client *client = &handle->client;
    int64_t until = handle->rest_until_us != 0 ? handle->rest_until_us : io->due_us;
    int fd = client->fd;
    short events = client->events;
    zr_client_submit(handle, request);
    int64_t due = zr_interest_due_us(handle, zr_now_us());
    if (due < until || client->fd != fd || client->events != events)
        zr_outlet_post(&io->outbox, &handle->outlet, NULL);
}

bool zr_direct_send(struct zr_handle *handle, struct zr_request *request)
{
    struct zr_io *io = handle->io;
    if (pthread_mutex_trylock(&io->turn) != 0)
        return false;
    bool may = may_send(handle, request);
    if (may)
        send_it(handle, request);
    pthread_mutex_unlock(&io->turn);
    return may;
}
