#ifndef ZR_INTEREST_H
#define ZR_INTEREST_H

/* interest.h: what the loop waits for. The I/O thread. */

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "zk/handle.h"
#include "zk/loop.h"

/* Asks each handle that does not rest. gives: how many entries of io->polls are in use, the loop's
   own included; in due_us, if it is earlier, the time at which the first handle must have its
   turn. */
nfds_t zr_interest_all(struct zr_io *io, int64_t now_us, int64_t *due_us);

/* Asks one handle. gives: the time at which it must have its turn; its descriptor and events are in
   handle->client. */
int64_t zr_interest_due_us(struct zr_handle *handle, int64_t now_us);

/* True: what the loop waits for contains what the handle has asked for. */
bool zr_interest_watched(const struct zr_handle *handle);

/* True: the library has a client for it, which may be called. */
bool zr_interest_served(const struct zr_handle *handle);

/* True if it has only answers for the host, and another answer is on its way: one wake-up of the
   host is enough. */
bool zr_interest_may_wait(const struct zr_handle *handle);

#endif
