#ifndef ZR_IO_H
#define ZR_IO_H

/*
 * io.h: the one thread of the process that serves the handles of all Lua states. It starts with the
 * first handle and stays.
 */

#include <stdbool.h>

#include "zk/mailbox.h"

struct zr_io;

/*
 * The I/O thread of this process. Starts it if there is none (also in a forked child, which touches
 * nothing of the parent's). Null: no memory, or no thread can be started. Any thread.
 */
struct zr_io *zr_io_get(void);

/* The mailbox for handles and requests. */
struct zr_mailbox *zr_io_outbox(struct zr_io *io);

/* The mailbox for the addresses that were looked up. */
struct zr_mailbox *zr_io_answers(struct zr_io *io);

#endif
