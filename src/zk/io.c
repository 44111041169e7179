/*
 * 1. The first open makes the thread's state and starts the thread.
 * 2. All later ones find it.
 *
 * What can go wrong: a fork. The child has our memory but not our thread, and the mutexes in it may
 * be locked forever. So the state belongs to a process id: the child never uses the state of the
 * parent, forgets it, and makes its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/io.h"

#include <unistd.h>

#include "core/alloc.h"
#include "zk/loop.h"
#include "zk/rest.h"
#include "zk/thread.h"

static struct zr_io *_Atomic shared;

struct zr_mailbox *zr_io_outbox(struct zr_io *io)
{
    return &io->outbox;
}

struct zr_mailbox *zr_io_answers(struct zr_io *io)
{
    return &io->answers;
}

static struct zr_io *io_new(void)
{
    struct zr_io *io = zr_alloc(sizeof *io);
    if (io == NULL)
        return NULL;
    io->pid = getpid();
    io->polls = io->few;
    io->room = sizeof io->few / sizeof io->few[0];
    zr_list_init(&io->handles);
    if (!zr_mailbox_init(&io->outbox)) {
        zr_free(io);
        return NULL;
    }
    if (zr_mailbox_init(&io->answers)) {
        pthread_mutex_init(&io->turn, NULL);
        zr_rest_init(io);
        return io;
    }
    zr_mailbox_fini(&io->outbox);
    zr_free(io);
    return NULL;
}

static void io_free(struct zr_io *io)
{
    pthread_mutex_destroy(&io->turn);
    zr_mailbox_fini(&io->outbox);
    zr_mailbox_fini(&io->answers);
    zr_rest_fini(io);
    zr_free(io);
}

/* Two Lua states on two threads may come here at once; one of the two makes it. */
static struct zr_io *find_or_make(void)
{
    struct zr_io *found = atomic_load(&shared);
    if (found != NULL && found->pid == getpid())
        return found;
    struct zr_io *made = io_new();
    if (made == NULL)
        return NULL;
    if (atomic_compare_exchange_strong(&shared, &found, made))
        return made;
    io_free(made);
    return found;
}

struct zr_io *zr_io_get(void)
{
    struct zr_io *io = find_or_make();
    if (io == NULL || atomic_exchange(&io->started, true))
        return io;
    if (zr_thread_start(zr_loop, io))
        return io;
    atomic_store(&io->started, false);
    return NULL;
}
