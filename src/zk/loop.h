#ifndef ZR_LOOP_H
#define ZR_LOOP_H

/* loop.h: what the I/O thread does, and all that it works on. Only io.c and loop.c need it. */

#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/list.h"
#include "zk/mailbox.h"

#define ZR_LOOP_MAILBOXES 2 /* polled before the handles: outbox, answers */
#define ZR_LOOP_FEW 16      /* handles that need no memory to be polled */

struct zr_io {
    pid_t pid;
    atomic_bool started;
    struct zr_mailbox outbox, answers; /* shared; the rest: the I/O thread */
    struct zr_list handles;
    size_t handle_count;
    struct pollfd few[ZR_LOOP_MAILBOXES + ZR_LOOP_FEW];
    struct pollfd *polls; /* few, or a block */
    size_t room;          /* in polls */
};

/* The body of the thread; never returns. keeps: io (a struct zr_io). */
void *zr_loop(void *io);

#endif
