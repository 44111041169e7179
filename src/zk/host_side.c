/*
 * The host's side of the table.
 *
 * 1. open copies the configuration and passes the handle to the I/O thread.
 * 2. submit sends (direct.c), or posts to its outbox; close posts.
 * 3. wait waits for the inbox, and may receive (direct.c); take empties the inbox.
 * 4. After ENDED the handle belongs to the host again and is freed.
 *
 * Only wait waits.
 *
 * What can go wrong: a fork. The child has a copy of all this without the I/O thread, and shares
 * the descriptors with the parent. So each entry point first checks the process id, and does
 * nothing in the child.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/host_side.h"

#include <poll.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/pid.h"
#include "zk/clock.h"
#include "zk/direct.h"
#include "zk/handle.h"
#include "zk/io.h"

struct client_zk {
    struct zr_zk table; /* first */
    pid_t pid;
    struct zr_mailbox inbox;
    struct zr_handle *latest; /* that got a request, or null */
};

static struct client_zk *at(struct zr_zk *zk)
{
    return (struct client_zk *)zk;
}

static bool foreign(struct zr_zk *zk)
{
    return at(zk)->pid != zr_pid();
}

static int64_t now_us(struct zr_zk *zk)
{
    (void)zk;
    return zr_now_us();
}

static enum zr_status open_handle(struct zr_zk *zk, const struct zr_zk_config *config, void *owner,
                                  struct zr_handle **handle)
{
    if (foreign(zk))
        return ZR_FORKED;
    struct zr_io *io = zr_io_get();
    if (io == NULL)
        return ZR_NO_MEMORY;
    struct zr_handle *made = zr_handle_new(config, owner, io, &at(zk)->inbox);
    if (made == NULL)
        return ZR_NO_MEMORY;
    made->resolution = zr_resolution_new(config->hosts, zr_io_answers(io));
    if (made->resolution == NULL) {
        zr_handle_free(made);
        return ZR_NO_MEMORY;
    }
    made->resolution->owner = made;
    made->pid = at(zk)->pid;
    *handle = made;
    zr_outlet_post(zr_io_outbox(io), &made->outlet, NULL);
    return ZR_OK;
}

/* After close no thread takes requests any more, so the request comes back at once. */
static void come_back(struct zr_handle *handle, struct zr_request *request)
{
    struct zr_list one;
    zr_list_init(&one);
    request->status = ZR_CONNECTION_LOSS;
    request->sent = false;
    zr_list_append(&one, &request->message.link);
    zr_mailbox_put(handle->inbox, &one);
}

static void submit(struct zr_handle *handle, struct zr_request *request)
{
    if (handle->pid != zr_pid())
        return;
    request->message.kind = ZR_MSG_REPLY;
    ZR_HOLDER(handle->inbox, struct client_zk, inbox)->latest = handle;
    if (handle->closed)
        come_back(handle, request);
    else if (!zr_direct_send(handle, request))
        zr_outlet_post(zr_io_outbox(handle->io), &handle->outlet, &request->message.link);
}

static void close_handle(struct zr_handle *handle, int64_t linger_us)
{
    if (handle->pid != zr_pid())
        return;
    int64_t now = zr_now_us();
    handle->closed = true;
    if (linger_us > INT64_MAX - 1 - now)
        linger_us = INT64_MAX - 1 - now;
    zr_outlet_close(zr_io_outbox(handle->io), &handle->outlet, now + linger_us);
}

/* In the child no thread serves the handle, but a list still refers to it, so the handle is not
   freed. */
static void free_handle(struct zr_handle *handle)
{
    struct client_zk *zk = ZR_HOLDER(handle->inbox, struct client_zk, inbox);
    if (zk->latest == handle)
        zk->latest = NULL;
    if (handle->pid == zr_pid())
        zr_handle_free(handle);
}

static int64_t lease_us(struct zr_handle *handle)
{
    if (handle->closed)
        return 0;
    return atomic_load_explicit(&handle->lease_us, memory_order_acquire);
}

static int64_t proof_us(struct zr_handle *handle)
{
    return atomic_load_explicit(&handle->proof_us, memory_order_acquire);
}

static void take(struct zr_zk *zk, struct zr_list *messages)
{
    if (!foreign(zk))
        zr_mailbox_take(&at(zk)->inbox, messages);
}

static void free_notice(struct zr_zk *zk, struct zr_notice *notice)
{
    (void)zk;
    zr_free(notice);
}

static void wake(struct zr_zk *zk)
{
    if (!foreign(zk))
        zr_mailbox_wake(&at(zk)->inbox);
}

static int fd(struct zr_zk *zk)
{
    return at(zk)->inbox.fd;
}

static void set_bell(struct zr_zk *zk, int socket)
{
    if (!foreign(zk))
        zr_mailbox_set_bell(&at(zk)->inbox, socket);
    else if (socket >= 0)
        close(socket);
}

static void wait(struct zr_zk *zk, int64_t timeout_us)
{
    if (foreign(zk))
        return;
    struct zr_handle *handle = at(zk)->latest;
    int socket = handle != NULL ? zr_direct_watch(handle) : -1;
    struct pollfd polls[] = {{.fd = at(zk)->inbox.fd, .events = POLLIN},
                             {.fd = socket, .events = POLLIN}};
    int ready = poll(polls, 2, zr_poll_ms(timeout_us));
    if (socket >= 0)
        zr_direct_receive(handle, ready > 0 ? polls[1].revents : 0);
}

static void free_zk(struct zr_zk *zk)
{
    if (foreign(zk))
        close(at(zk)->inbox.fd);
    else
        zr_mailbox_fini(&at(zk)->inbox);
    zr_free(zk);
}

static const struct zr_zk table = {
    .now_us = now_us,
    .open = open_handle,
    .submit = submit,
    .close = close_handle,
    .free_handle = free_handle,
    .lease_us = lease_us,
    .proof_us = proof_us,
    .take = take,
    .free_notice = free_notice,
    .wake = wake,
    .fd = fd,
    .set_bell = set_bell,
    .wait = wait,
    .free = free_zk,
};

enum zr_status zr_zk_client_new(struct zr_zk **zk)
{
    struct client_zk *made = zr_alloc(sizeof *made);
    if (made == NULL)
        return ZR_NO_MEMORY;
    made->table = table;
    made->pid = zr_pid();
    if (!zr_mailbox_init(&made->inbox)) {
        zr_free(made);
        return ZR_NO_MEMORY;
    }
    *zk = &made->table;
    return ZR_OK;
}
