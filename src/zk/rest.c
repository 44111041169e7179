/*
 * 1. A handle whose connection is proved has said until when it needs no turn. It leaves the list
 *    of those that are asked and polled in each turn; an epoll descriptor watches its socket.
 * 2. Bytes come for it, or a request, or its servers' addresses, or its time comes: it goes back.
 *
 * The socket is watched only while the handle rests and nobody calls the library for it (direct.c
 * does). So the library, which opens and closes sockets as it likes, cannot close one that is
 * watched: if a forked child has it too, epoll would report it for ever.
 *
 * One handle stays awake: a process with one session would only pay for going to rest. Unless its
 * host can wait for the socket itself (direct.c): then the I/O thread sleeps on.
 *
 * What can go wrong: there is no descriptor, or the kernel watches no more sockets. Then handles
 * stay awake.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/rest.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "zk/client.h"
#include "zk/clock.h"
#include "zk/direct.h"
#include "zk/servers.h"

#define MOST_EVENTS 64 /* in one turn; the next one gets the others */

void zr_rest_init(struct zr_io *io)
{
    zr_list_init(&io->resting);
    io->rest_until_us = INT64_MAX;
    io->resting_fd = epoll_create1(EPOLL_CLOEXEC);
}

void zr_rest_fini(struct zr_io *io)
{
    if (io->resting_fd >= 0)
        close(io->resting_fd);
}

static bool two_are_awake(const struct zr_io *io)
{
    return io->handles.head.next != io->handles.head.prev;
}

void zr_rest_begin(struct zr_io *io, struct zr_handle *handle, int64_t until_us)
{
    struct epoll_event event = {.events = (uint32_t)handle->client.events, .data.ptr = handle};
    bool few = handle->host_waits && handle->client.pending < ZR_DIRECT_FEW;
    if (!(few || two_are_awake(io)) ||
        epoll_ctl(io->resting_fd, EPOLL_CTL_ADD, handle->client.fd, &event) != 0)
        return;
    zr_unlink(&handle->link);
    zr_list_append(&io->resting, &handle->link);
    handle->poll_index = -1;
    handle->rest_until_us = until_us;
    io->rest_until_us = zr_earlier_us(io->rest_until_us, until_us);
}

/* While it rested nobody noted that it was connected. */
void zr_rest_end(struct zr_io *io, struct zr_handle *handle)
{
    if (handle->rest_until_us == 0)
        return;
    epoll_ctl(io->resting_fd, EPOLL_CTL_DEL, handle->client.fd, NULL);
    zr_unlink(&handle->link);
    zr_list_append(&io->handles, &handle->link);
    handle->rest_until_us = 0;
    handle->host_reads = false;
    zr_servers_step(handle, zr_now_us());
}

bool zr_rest_watch(struct zr_io *io, struct zr_handle *handle, bool on)
{
    struct epoll_event event = {.events = (uint32_t)handle->client.events, .data.ptr = handle};
    return epoll_ctl(io->resting_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, handle->client.fd,
                     &event) == 0;
}

void zr_rest_wake_due(struct zr_io *io, int64_t now_us)
{
    if (now_us < io->rest_until_us)
        return;
    io->rest_until_us = INT64_MAX;
    ZR_LIST_EACH (link, &io->resting) {
        struct zr_handle *handle = ZR_HOLDER(link, struct zr_handle, link);
        if (handle->rest_until_us <= now_us)
            zr_rest_end(io, handle);
        else
            io->rest_until_us = zr_earlier_us(io->rest_until_us, handle->rest_until_us);
    }
}

void zr_rest_receive(struct zr_io *io)
{
    struct epoll_event events[MOST_EVENTS];
    int count = epoll_wait(io->resting_fd, events, MOST_EVENTS, 0);
    for (int i = 0; i < count; i++) {
        struct zr_handle *handle = events[i].data.ptr;
        zr_rest_end(io, handle);
        zr_client_process(handle, (short)events[i].events);
    }
}
