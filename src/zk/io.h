#ifndef ZR_IO_H
#define ZR_IO_H

/*
 * io.h: the one thread of the process that calls the client library, for the handles of all Lua
 * states. It starts with the first handle and stays.
 */

#include <stdbool.h>

#include "zk/mailbox.h"

struct zr_io;

/*
 * The I/O thread of this process, which is started if there is none (also in the child of a fork,
 * where nothing of the parent's is touched). Null: no memory, or no room for a thread. Any thread.
 */
struct zr_io *zr_io_get(void);

/* Where handles are shown to it and requests are posted. */
struct zr_mailbox *zr_io_outbox(struct zr_io *io);

/* Where names that were looked up come back to. */
struct zr_mailbox *zr_io_answers(struct zr_io *io);

#endif
