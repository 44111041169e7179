/*
 * 1. Each handle says what it waits for, and until when at most.
 * 2. It rests (rest.h) if it has nothing to do before that; otherwise it is polled.
 *
 * What can go wrong: there is too little memory to poll all handles. Then they take turns.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/interest.h"

#include "core/alloc.h"
#include "zk/client.h"
#include "zk/clock.h"
#include "zk/closing.h"
#include "zk/connection.h"
#include "zk/rest.h"
#include "zk/servers.h"

#define RETRY_US 100000 /* after a failure for want of memory */
#define SCARCE_US 10000 /* if not all handles can be polled at once */

bool zr_interest_served(const struct zr_handle *handle)
{
    return handle->client.zh != NULL && !handle->client.dead;
}

/* Requests wait for the next turn, unless only an answer from the server can make them ready. */
static bool has_more(const struct zr_handle *handle)
{
    struct zr_link *link = zr_list_first(&handle->todo);
    return link != NULL &&
           zr_client_ready(handle, ZR_HOLDER(link, struct zr_request, message.link));
}

bool zr_interest_may_wait(const struct zr_handle *handle)
{
    if (handle->client.pending == 0)
        return false;
    ZR_LIST_EACH (link, &handle->out) {
        const struct zr_message *message = ZR_HOLDER(link, struct zr_message, link);
        const struct zr_request *request = (const struct zr_request *)message;
        if (message->kind != ZR_MSG_REPLY || !request->answer_may_wait || request->status != ZR_OK)
            return false;
    }
    return true;
}

int64_t zr_interest_due_us(struct zr_handle *handle, int64_t now)
{
    int64_t due = zr_earlier_us(zr_servers_due_us(handle), zr_closing_due_us(handle, now));
    if (!zr_report_retry(handle))
        due = zr_earlier_us(due, now + RETRY_US);
    if (zr_interest_served(handle)) {
        zr_client_prepare(handle, now);
        due = zr_earlier_us(due, now + handle->client.wait_us);
    }
    due = zr_earlier_us(due, zr_connection_due_us(handle));
    bool owed = !zr_list_empty(&handle->out) && !zr_interest_may_wait(handle);
    return has_more(handle) || owed ? now : due;
}

/* ---- All ----------------------------------------------------------------------------------- */

bool zr_interest_watched(const struct zr_handle *handle)
{
    return handle->poll_index >= 0 || handle->rest_until_us != 0;
}

/* Before a connection is proved, clocks and threads have a part in it of which nobody is told. */
static bool may_rest(const struct zr_handle *handle)
{
    const struct zr_client *client = &handle->client;
    return client->proved && client->fd >= 0 && !client->again && handle->close_by_us == INT64_MAX;
}

static void make_room(struct zr_io *io)
{
    size_t wanted = ZR_LOOP_OWN + io->handle_count;
    if (wanted <= io->room)
        return;
    struct pollfd *polls = zr_alloc(2 * wanted * sizeof *polls);
    if (polls == NULL)
        return;
    if (io->polls != io->few)
        zr_free(io->polls);
    io->polls = polls;
    io->room = 2 * wanted;
}

/* False: there is no room. */
static bool add(struct zr_io *io, struct zr_handle *handle, nfds_t *count)
{
    if (*count == io->room)
        return false;
    handle->poll_index = (int)*count;
    io->polls[(*count)++] =
        (struct pollfd){.fd = handle->client.fd, .events = handle->client.events};
    return true;
}

nfds_t zr_interest_all(struct zr_io *io, int64_t now_us, int64_t *due_us)
{
    nfds_t count = ZR_LOOP_OWN;
    make_room(io);
    zr_rest_wake_due(io, now_us);
    ZR_LIST_EACH (link, &io->handles) {
        struct zr_handle *handle = ZR_HOLDER(link, struct zr_handle, link);
        int64_t handle_due_us = zr_interest_due_us(handle, now_us);
        handle->poll_index = -1;
        if (handle_due_us > now_us && may_rest(handle))
            zr_rest_begin(io, handle, handle_due_us);
        if (handle->rest_until_us != 0)
            continue;
        *due_us = zr_earlier_us(*due_us, handle_due_us);
        if (zr_interest_served(handle) && handle->client.fd >= 0 && !add(io, handle, &count))
            *due_us = zr_earlier_us(*due_us, now_us + SCARCE_US);
    }
    *due_us = zr_earlier_us(*due_us, io->rest_until_us);
    return count;
}
