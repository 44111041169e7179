/*
 * 1. The writer locks, appends, and writes the descriptor if the list was empty.
 * 2. The reader locks, takes the whole list, and reads the descriptor.
 *
 * Both record under the mutex whether the descriptor is readable, so that neither makes a needless
 * system call: a reader takes until nothing is left, and most of the time nothing is.
 *
 * What can go wrong: the reader may free the box as soon as it has taken the last message, while
 * the writer is about to write the descriptor. By then its number may belong to another file. So
 * the write is made under the mutex, and fini locks once before it closes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/mailbox.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

bool zr_mailbox_init(struct zr_mailbox *box)
{
    zr_list_init(&box->list);
    box->bell = -1;
    box->rung = false;
    box->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (box->fd >= 0 && pthread_mutex_init(&box->mutex, NULL) == 0)
        return true;
    if (box->fd >= 0)
        close(box->fd);
    return false;
}

void zr_mailbox_fini(struct zr_mailbox *box)
{
    pthread_mutex_lock(&box->mutex);
    pthread_mutex_unlock(&box->mutex);
    pthread_mutex_destroy(&box->mutex);
    close(box->fd);
    if (box->bell >= 0)
        close(box->bell);
}

/* Call it under the mutex. Every ring writes to the bell: perhaps its reader has not read the
   byte before. */
static void ring(struct zr_mailbox *box)
{
    uint64_t one = 1;
    ssize_t written = box->rung ? 0 : write(box->fd, &one, sizeof one);
    (void)written;
    box->rung = true;
    if (box->bell >= 0) /* when it is full, its reader has enough to wake up for */
        send(box->bell, "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Call it under the mutex. The descriptor may be empty: a host may have read it itself. */
static void hush(struct zr_mailbox *box)
{
    uint64_t rings;
    ssize_t got = box->rung ? read(box->fd, &rings, sizeof rings) : 0;
    (void)got;
    box->rung = false;
}

void zr_mailbox_set_bell(struct zr_mailbox *box, int bell)
{
    pthread_mutex_lock(&box->mutex);
    if (box->bell >= 0)
        close(box->bell);
    box->bell = bell;
    ring(box);
    pthread_mutex_unlock(&box->mutex);
}

void zr_mailbox_silence(struct zr_mailbox *box)
{
    pthread_mutex_lock(&box->mutex);
    hush(box);
    pthread_mutex_unlock(&box->mutex);
}

void zr_mailbox_put(struct zr_mailbox *box, struct zr_list *links)
{
    if (zr_list_empty(links))
        return;
    pthread_mutex_lock(&box->mutex);
    bool first = zr_list_empty(&box->list);
    zr_list_move(&box->list, links);
    if (first)
        ring(box);
    pthread_mutex_unlock(&box->mutex);
}

void zr_mailbox_take(struct zr_mailbox *box, struct zr_list *links)
{
    pthread_mutex_lock(&box->mutex);
    hush(box);
    zr_list_move(links, &box->list);
    pthread_mutex_unlock(&box->mutex);
}

void zr_mailbox_wake(struct zr_mailbox *box)
{
    pthread_mutex_lock(&box->mutex);
    ring(box);
    pthread_mutex_unlock(&box->mutex);
}

void zr_outlet_init(struct zr_outlet *outlet)
{
    zr_list_init(&outlet->posted);
    outlet->close_by_us = INT64_MAX;
}

/* Under the mutex. */
static void show(struct zr_mailbox *box, struct zr_outlet *outlet)
{
    if (outlet->deaf || zr_linked(&outlet->link))
        return;
    if (zr_list_empty(&box->list))
        ring(box);
    zr_list_append(&box->list, &outlet->link);
}

void zr_outlet_post(struct zr_mailbox *box, struct zr_outlet *outlet, struct zr_link *link)
{
    pthread_mutex_lock(&box->mutex);
    if (link != NULL)
        zr_list_append(&outlet->posted, link);
    show(box, outlet);
    pthread_mutex_unlock(&box->mutex);
}

void zr_outlet_close(struct zr_mailbox *box, struct zr_outlet *outlet, int64_t by_us)
{
    pthread_mutex_lock(&box->mutex);
    if (by_us < outlet->close_by_us) {
        outlet->close_by_us = by_us;
        show(box, outlet);
    }
    pthread_mutex_unlock(&box->mutex);
}

struct zr_outlet *zr_outlet_next(struct zr_mailbox *box, struct zr_list *requests,
                                 int64_t *close_by_us)
{
    struct zr_outlet *outlet = NULL;
    pthread_mutex_lock(&box->mutex);
    struct zr_link *link = zr_list_shift(&box->list);
    if (link != NULL) {
        outlet = ZR_HOLDER(link, struct zr_outlet, link);
        zr_list_move(requests, &outlet->posted);
        *close_by_us = outlet->close_by_us;
    }
    pthread_mutex_unlock(&box->mutex);
    return outlet;
}

void zr_outlet_end(struct zr_mailbox *box, struct zr_outlet *outlet)
{
    pthread_mutex_lock(&box->mutex);
    outlet->deaf = true;
    zr_unlink(&outlet->link);
    pthread_mutex_unlock(&box->mutex);
}
