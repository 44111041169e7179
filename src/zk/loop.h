#ifndef ZR_LOOP_H
#define ZR_LOOP_H

/*
 * loop.h: what the I/O thread does, and all that it works on. Only io.c, loop.c and direct.c need
 * it.
 *
 * Whoever has the turn may call the client library and use what is the I/O thread's. The I/O thread
 * has it always, but not while it waits in poll. So "the I/O thread" in other headers is whoever
 * has the turn.
 */

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/list.h"
#include "zk/mailbox.h"

/* Polled before the handles. */
enum { ZR_LOOP_OUTBOX, ZR_LOOP_ANSWERS, ZR_LOOP_RESTING, ZR_LOOP_OWN };

#define ZR_LOOP_FEW 16 /* handles that need no memory to be polled */

struct zr_handle;

struct zr_io {
    pid_t pid;
    atomic_bool started;
    struct zr_mailbox outbox, answers; /* shared; the rest: whoever has the turn */
    pthread_mutex_t turn;              /* only the mutex of a mailbox is ever taken under it */
    bool waits;                        /* the I/O thread is in poll, or goes there ... */
    int64_t due_us;                    /* ... until then at most */
    struct zr_list handles;            /* those that get turns */
    struct zr_list resting;            /* the others; see rest.h */
    int resting_fd;        /* readable when bytes have come for one of them; -1: none rests */
    int64_t rest_until_us; /* none of them needs a turn before */
    size_t handle_count;   /* in both lists */
    struct pollfd few[ZR_LOOP_OWN + ZR_LOOP_FEW];
    struct pollfd *polls; /* few, or a block */
    size_t room;          /* in polls */
};

/* The body of the thread; never returns. keeps: io (a struct zr_io). */
void *zr_loop(void *io);

/* Puts what the handle's host is to get into its inbox. */
void zr_loop_hand_over(struct zr_handle *handle);

#endif
