/*
 * 1. Nothing new is sent, and the answers in flight are awaited, as long as parts of them come. If
 *    a connection is closed with unread answers, it is reset, and the request that ends the session
 *    is lost.
 * 2. The close request is sent. The library would wait for the answer and hold up all other
 *    handles. So the socket is first shut for reading, which the library takes for the answer, and
 *    we keep a copy of the descriptor.
 * 3. The server's answer comes: now everything that the session held is released, and ENDED is
 *    reported.
 *
 * What can go wrong: there is no connection: the library keeps trying to get one until the caller's
 * patience ends. The connection ends before the answer comes: the session may live on, so the
 * library gets a new handle for it, and we start again at 1. The server does not answer in time:
 * then the session may end only by its timeout. A handle that never had a session, or whose session
 * is over, ends at once.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/closing.h"

#include <poll.h>

#include "zk/client.h"
#include "zk/clock.h"

#define LONGEST_WAIT_US 2000000 /* for a part of the answers in flight, and for the goodbye */
#define MOST_PARTINGS 5

/* A socket that was shut for reading is always readable, so the goodbye has to be polled for. */
int64_t zr_closing_due_us(const struct zr_handle *handle, int64_t now_us)
{
    if (handle->close_by_us == INT64_MAX)
        return INT64_MAX;
    if (handle->parting_fd >= 0)
        return now_us + (now_us - handle->parting_us < 50000 ? 1000 : 10000);
    if (handle->drain_by_us != 0)
        return zr_earlier_us(handle->close_by_us, handle->drain_by_us);
    return handle->close_by_us;
}

static bool drained(const struct zr_handle *handle)
{
    return handle->client.pending == 0 && !handle->client.sending && zr_list_empty(&handle->todo) &&
           zr_receive_between(&handle->client.incoming);
}

/* If the host was never told of the session, the session can hold nothing. */
static bool nothing_to_end(const struct zr_client *client)
{
    return client->dead || (client->session_id == 0 && !client->up);
}

/* Has a part of the answers come since the last look? If this thread was held up, it is unread. */
static bool any_came(struct zr_handle *handle, int64_t now_us)
{
    const struct zr_client *client = &handle->client;
    int64_t missing = (int64_t)client->incoming.left + client->incoming.surplus;
    bool came = missing != handle->drain_missing || client->pending < handle->drain_pending;
    handle->drain_missing = missing;
    handle->drain_pending = client->pending;
    return came || (now_us >= handle->drain_by_us && zr_client_polls(client, POLLIN));
}

/* True: there is nothing more to wait for. */
static bool leave(struct zr_handle *handle, int64_t now_us)
{
    struct zr_client *client = &handle->client;
    if (nothing_to_end(client))
        return true;
    if (!client->up) {
        handle->drain_by_us = 0;
        return now_us >= handle->close_by_us;
    }
    if (any_came(handle, now_us) || handle->drain_by_us == 0)
        handle->drain_by_us = now_us + LONGEST_WAIT_US;
    bool dry = drained(handle);
    if (!dry && now_us < zr_earlier_us(handle->close_by_us, handle->drain_by_us))
        return false;
    handle->parting_us = now_us;
    handle->parting_by_us = dry ? now_us + LONGEST_WAIT_US : now_us;
    handle->parting_fd = zr_client_part(handle);
    zr_goodbye_begin(&handle->goodbye);
    return handle->parting_fd < 0;
}

/* over: the server has ended the session. */
static void finish(struct zr_handle *handle, bool over)
{
    zr_warden_dismiss(handle, over);
    for (struct zr_link *link; (link = zr_list_shift(&handle->todo)) != NULL;)
        zr_handle_refuse(handle, ZR_HOLDER(link, struct zr_request, message.link),
                         ZR_CONNECTION_LOSS);
    zr_client_drop(handle);
    zr_resolution_free(handle->resolution);
    handle->resolution = NULL;
    zr_report_ended(handle);
}

/* The connection ended without an answer: asks on another one. False: that would be useless. */
static bool try_again(struct zr_handle *handle, int64_t now_us)
{
    handle->drain_by_us = 0;
    handle->parting_count++;
    return now_us < handle->close_by_us && handle->parting_count < MOST_PARTINGS &&
           zr_client_open(handle);
}

/* True: it is over, with or without an answer. */
static bool part(struct zr_handle *handle, int64_t now_us, bool *over)
{
    /* While other answers are missing, it is unknown which answer is the goodbye. */
    bool told_apart = handle->parting_by_us > handle->parting_us;
    enum zr_goodbye_state state =
        told_apart ? zr_goodbye_read(&handle->goodbye, handle->parting_fd, handle->client.secure)
                   : ZR_GOODBYE_AWAITED;
    if (state == ZR_GOODBYE_AWAITED &&
        now_us < zr_earlier_us(handle->close_by_us, handle->parting_by_us))
        return false;
    zr_client_parted(handle);
    *over = state == ZR_GOODBYE_SAID;
    return state != ZR_GOODBYE_MISSED || !try_again(handle, now_us);
}

bool zr_closing_step(struct zr_handle *handle, int64_t now_us)
{
    bool over = false;
    if (handle->close_by_us == INT64_MAX)
        return false;
    if (handle->parting_fd < 0 ? !leave(handle, now_us) : !part(handle, now_us, &over))
        return false;
    finish(handle, over);
    return true;
}
