/*
 * A turn of the loop:
 * 1. Ask each handle what it waits for, and how long at most.
 * 2. One poll waits for all of them and for the two mailboxes.
 * 3. Handles that are ready receive; their completions copy the answers.
 * 4. Take new requests and send them, a bounded number per turn; then send the heartbeats that are
 *    due, and do what else is due.
 * 5. Put the replies and notices into each host's inbox, all at once.
 *
 * What can go wrong: there is too little memory to poll all handles; then they take turns. Only the
 * poll may wait, because all sessions of the process wait with it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/loop.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/alloc.h"
#include "zk/client.h"
#include "zk/clock.h"
#include "zk/closing.h"
#include "zk/connection.h"
#include "zk/handle.h"
#include "zk/servers.h"
#include "zk/warden.h"

#define MOST_REQUESTS 1000 /* in one turn */
#define LONGEST_BATCH_US 5000
#define RETRY_US 100000 /* after a failure for want of memory */
#define SCARCE_US 10000 /* if not all handles can be polled at once */

static struct zr_handle *handle_at(struct zr_link *link)
{
    return ZR_HOLDER(link, struct zr_handle, link);
}

/* ---- 1. What each handle waits for --------------------------------------------------------- */

static bool served(const struct zr_handle *handle)
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

/* True if there are only answers, and another answer is on its way: one wake-up of the host is
   enough. */
static bool may_wait(const struct zr_handle *handle)
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

/* gives: the time at which the handle must have its turn. */
static int64_t prepare(struct zr_handle *handle, int64_t now)
{
    int64_t due = zr_earlier_us(zr_servers_due_us(handle), zr_closing_due_us(handle, now));
    if (!zr_report_retry(handle))
        due = zr_earlier_us(due, now + RETRY_US);
    if (served(handle)) {
        zr_client_prepare(handle, now);
        due = zr_earlier_us(due, now + handle->client.wait_us);
    }
    due = zr_earlier_us(due, zr_connection_due_us(handle));
    bool owed = !zr_list_empty(&handle->out) && !may_wait(handle);
    return has_more(handle) || owed ? now : due;
}

static void make_room(struct zr_io *io)
{
    size_t wanted = ZR_LOOP_MAILBOXES + io->handle_count;
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

/* gives: how many are polled. */
static nfds_t prepare_all(struct zr_io *io, int64_t now, int64_t *due)
{
    nfds_t count = ZR_LOOP_MAILBOXES;
    make_room(io);
    ZR_LIST_EACH (link, &io->handles) {
        struct zr_handle *handle = handle_at(link);
        *due = zr_earlier_us(*due, prepare(handle, now));
        handle->poll_index = -1;
        if (!served(handle) || handle->client.fd < 0)
            continue;
        if (count == io->room) {
            *due = zr_earlier_us(*due, now + SCARCE_US);
            continue;
        }
        handle->poll_index = (int)count;
        io->polls[count++] =
            (struct pollfd){.fd = handle->client.fd, .events = handle->client.events};
    }
    return count;
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
    int64_t due = INT64_MAX;
    nfds_t count = prepare_all(io, zr_now_us(), &due);
    io->polls[0] = (struct pollfd){.fd = io->outbox.fd, .events = POLLIN};
    io->polls[1] = (struct pollfd){.fd = io->answers.fd, .events = POLLIN};
    if (poll(io->polls, count, zr_poll_ms(time_until(due))) < 0)
        for (nfds_t i = 0; i < count; i++)
            io->polls[i].revents = 0;
}

/* ---- 3. Receiving -------------------------------------------------------------------------- */

static void receive(struct zr_io *io)
{
    ZR_LIST_EACH (link, &io->handles) {
        struct zr_handle *handle = handle_at(link);
        short revents = handle->poll_index >= 0 ? io->polls[handle->poll_index].revents : 0;
        if (revents != 0 || (served(handle) && handle->client.again))
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
        if (resolution->owner == NULL)
            zr_resolution_free(resolution);
        else
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
static void hand_over(struct zr_handle *handle)
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
    else if (!may_wait(handle))
        hand_over(handle);
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
    for (;;) {
        wait_for_something(io);
        receive(io);
        if (io->polls[1].revents != 0)
            take_answers(io);
        if (io->polls[0].revents != 0)
            take_requests(io);
        serve_all(io);
    }
    return NULL;
}
