#ifndef ZR_MAILBOX_H
#define ZR_MAILBOX_H

/*
 * mailbox.h: a list that two threads share, and a descriptor that is readable while there is
 * something in it. The inbox (for the host) holds messages; the outbox (host to I/O thread)
 * holds outlets, one for each handle that wants something.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/list.h"

struct zr_mailbox {
    pthread_mutex_t mutex; /* no other lock is ever taken under it, and nothing in it waits */
    struct zr_list list;
    int fd;    /* made readable when the list stops being empty, and only then */
    bool rung; /* it is readable */
    int bell;  /* a stream socket that gets a byte whenever it rings; -1: none */
};

/* False: no descriptor is left. */
bool zr_mailbox_init(struct zr_mailbox *box);

/* Ends the box: no thread may use it any more. Waits for a put that is just returning. */
void zr_mailbox_fini(struct zr_mailbox *box);

/* Appends all of `links`, which is empty afterwards. keeps: the links, until taken. Any thread. */
void zr_mailbox_put(struct zr_mailbox *box, struct zr_list *links);

/* Appends all that came in to `links`; the descriptor is no longer readable. The reader only. */
void zr_mailbox_take(struct zr_mailbox *box, struct zr_list *links);

/* Makes the descriptor readable, until the next take. Any thread. */
void zr_mailbox_wake(struct zr_mailbox *box);

/* The descriptor is no longer readable. The reader only, before it takes. */
void zr_mailbox_silence(struct zr_mailbox *box);

/* takes: bell, the write end of a stream socket, which replaces the earlier one; -1: none. Rings
   it at once, because the list may not be empty. The reader only. */
void zr_mailbox_set_bell(struct zr_mailbox *box, int bell);

/* ---- The outbox ---------------------------------------------------------------------------- */

/* What one handle's user wants. Guarded by the mutex of its box. */
struct zr_outlet {
    struct zr_link link;   /* in the box while it holds something the I/O thread has not seen */
    struct zr_list posted; /* requests */
    int64_t close_by_us;   /* INT64_MAX: not to be closed */
    bool deaf;             /* nothing gets in any more: the I/O thread has let go of it */
};

void zr_outlet_init(struct zr_outlet *outlet);

/* Adds a request, or with null only shows the outlet (a new handle). keeps: link. Host's thread. */
void zr_outlet_post(struct zr_mailbox *box, struct zr_outlet *outlet, struct zr_link *link);

/* Asks for the end, at by_us at the latest; a later time than one asked for before changes
   nothing. */
void zr_outlet_close(struct zr_mailbox *box, struct zr_outlet *outlet, int64_t by_us);

/*
 * The next outlet that wants something, or null: its requests are appended to `requests`, the time
 * to close by is stored. The I/O thread.
 */
struct zr_outlet *zr_outlet_next(struct zr_mailbox *box, struct zr_list *requests,
                                 int64_t *close_by_us);

/* From now on the box never returns this outlet again. The I/O thread. */
void zr_outlet_end(struct zr_mailbox *box, struct zr_outlet *outlet);

#endif
