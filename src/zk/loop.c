/*
 * A turn of the loop:
 * 1. Ask each handle that does not rest what it waits for, and how long at most (interest.c).
 * 2. One poll waits for all of them, for those that rest, and for the two mailboxes.
 * 3. Handles that are ready receive; their completions copy the answers.
 * 4. Take new requests and send them, a bounded number per turn; then send the heartbeats that are
 *    due, and do what else is due.
 * 5. Put the replies and notices into each host's inbox, all at once.
 *
 * What can go wrong: only the poll may wait, because all sessions of the process wait with it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/loop.h"

#include <stdbool.h>
#include <stdint.h>

#include "zk/client.h"
#include "zk/clock.h"
#include "zk/closing.h"
#include "zk/connection.h"
#include "zk/handle.h"
#include "zk/interest.h"
#include "zk/rest.h"
#include "zk/servers.h"
#include "zk/warden.h"

#define MOST_REQUESTS 1000 /* in one turn */
#define LONGEST_BATCH_US 5000

static struct zr_handle *handle_at(struct zr_link *link)
{
    return ZR_HOLDER(link, struct zr_handle, link);
}

/* ---- 2. Waiting ---------------------------------------------------------------------------- */

/* The wait, for zr_poll_ms. */
static int64_t time_until(int64_t due)
{
    if (due == INT64_MAX)
        return -1;
    int64_t now = zr_now_us();
    return due > now ? due - now : 0;
}

static void wait_for_something(struct zr_io *io)
{
    io->due_us = INT64_MAX;
    nfds_t count = zr_interest_all(io, zr_now_us(), &io->due_us);
    int wait_ms = zr_poll_ms(time_until(io->due_us));
    io->polls[ZR_LOOP_OUTBOX] = (struct pollfd){.fd = io->outbox.fd, .events = POLLIN};
    io->polls[ZR_LOOP_ANSWERS] = (struct pollfd){.fd = io->answers.fd, .events = POLLIN};
    io->polls[ZR_LOOP_RESTING] = (struct pollfd){.fd = io->resting_fd, .events = POLLIN};
    io->waits = true;
    pthread_mutex_unlock(&io->turn);
    int ready = poll(io->polls, count, wait_ms);
    pthread_mutex_lock(&io->turn);
    io->waits = false;
    if (ready < 0)
        for (nfds_t i = 0; i < count; i++)
            io->polls[i].revents = 0;
}

/* ---- 3. Receiving -------------------------------------------------------------------------- */

static void receive(struct zr_io *io)
{
    ZR_LIST_EACH (link, &io->handles) {
        struct zr_handle *handle = handle_at(link);
        short revents = handle->poll_index >= 0 ? io->polls[handle->poll_index].revents : 0;
        if (revents != 0 || (zr_interest_served(handle) && handle->client.again))
            zr_client_process(handle, revents);
    }
}

static void take_answers(struct zr_io *io)
{
    struct zr_list answers;
    zr_list_init(&answers);
    zr_mailbox_take(&io->answers, &answers);
    for (struct zr_link *link; (link = zr_list_shift(&answers)) != NULL;) {
        struct zr_resolution *resolution = ZR_HOLDER(link, struct zr_resolution, link);
        resolution->busy = false;
        if (resolution->owner == NULL) {
            zr_resolution_free(resolution);
            continue;
        }
        zr_rest_end(io, resolution->owner);
        zr_servers_found(resolution->owner, zr_now_us());
    }
}

/* ---- 4. Sending ---------------------------------------------------------------------------- */

static void take_requests(struct zr_io *io)
{
    struct zr_list requests;
    int64_t close_by;
    zr_list_init(&requests);
    zr_mailbox_silence(&io->outbox);
    for (struct zr_outlet *outlet;
         (outlet = zr_outlet_next(&io->outbox, &requests, &close_by)) != NULL;) {
        struct zr_handle *handle = ZR_HOLDER(outlet, struct zr_handle, outlet);
        zr_rest_end(io, handle);
        zr_list_move(&handle->todo, &requests);
        handle->close_by_us = close_by;
        if (zr_linked(&handle->link))
            continue;
        zr_list_append(&io->handles, &handle->link);
        io->handle_count++;
    }
}

static bool two_or_more(const struct zr_list *list)
{
    return !zr_list_empty(list) && list->head.next != list->head.prev;
}

/* What one turn may spend on requests, over all handles. */
struct budget {
    int requests;
    int64_t until_us;
};

static bool spend(struct budget *budget)
{
    return budget->requests-- > 0 && zr_now_us() < budget->until_us;
}

static void send_all(struct zr_handle *handle, struct budget *budget)
{
    for (struct zr_link *link; (link = zr_list_first(&handle->todo)) != NULL;) {
        struct zr_request *request = ZR_HOLDER(link, struct zr_request, message.link);
        if (!zr_client_ready(handle, request) || !spend(budget))
            return;
        zr_unlink(link);
        zr_client_submit(handle, request);
    }
}

static void send_batch(struct zr_handle *handle, struct budget *budget)
{
    bool cork = two_or_more(&handle->todo) && handle->client.proved;
    if (cork)
        zr_client_cork(handle, true);
    send_all(handle, budget);
    if (cork)
        zr_client_cork(handle, false);
}

/* ---- 5. Handing over ----------------------------------------------------------------------- */

/* Once the host finds ENDED in the inbox, it owns the handle. */
static void let_go(struct zr_io *io, struct zr_handle *handle)
{
    zr_unlink(&handle->link);
    io->handle_count--;
    zr_outlet_end(&io->outbox, &handle->outlet);
    struct zr_list last;
    zr_list_init(&last);
    zr_list_move(&last, &handle->out);
    zr_mailbox_put(handle->inbox, &last);
}

/* What an answer proves is told only when all that came before it is in the inbox. */
void zr_loop_hand_over(struct zr_handle *handle)
{
    zr_mailbox_put(handle->inbox, &handle->out);
    atomic_store_explicit(&handle->proof_us, zr_report_proof_us(handle), memory_order_release);
}

static void serve(struct zr_io *io, struct zr_handle *handle, struct budget *budget)
{
    int64_t now = zr_now_us();
    zr_servers_step(handle, now);
    send_batch(handle, budget);
    if (handle->warden.news)
        zr_warden_tell(handle);
    if (zr_connection_due_us(handle) <= now) {
        zr_warden_look(handle);
        zr_client_beat(handle, now);
    }
    zr_client_flush(handle);
    if (zr_closing_step(handle, zr_now_us()))
        let_go(io, handle);
    else if (!zr_interest_may_wait(handle))
        zr_loop_hand_over(handle);
}

static void serve_all(struct zr_io *io)
{
    struct budget budget = {MOST_REQUESTS, zr_now_us() + LONGEST_BATCH_US};
    ZR_LIST_EACH (link, &io->handles) {
        serve(io, handle_at(link), &budget);
    }
    struct zr_link *first = zr_list_shift(&io->handles); /* so that all get their share */
    if (first != NULL)
        zr_list_append(&io->handles, first);
}

void *zr_loop(void *with)
{
    struct zr_io *io = with;
    pthread_mutex_lock(&io->turn);
    for (;;) {
        wait_for_something(io);
        receive(io);
        if (io->polls[ZR_LOOP_RESTING].revents != 0)
            zr_rest_receive(io);
        if (io->polls[ZR_LOOP_ANSWERS].revents != 0)
            take_answers(io);
        if (io->polls[ZR_LOOP_OUTBOX].revents != 0)
            take_requests(io);
        serve_all(io);
    }
    return NULL;
}
