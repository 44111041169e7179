#ifndef ZR_SERVERS_H
#define ZR_SERVERS_H

/*
 * servers.h: from the names of the servers to a client of the library that tries to reach them, and
 * to another one when that is of no use. The I/O thread.
 */

#include <stdint.h>

#include "zk/handle.h"

/* When something is to be done here; INT64_MAX: nothing until something happens. */
int64_t zr_servers_due_us(const struct zr_handle *handle);

/* Does what is due: looks names up, replaces a client that is unfit. */
void zr_servers_step(struct zr_handle *handle, int64_t now_us);

/* The names were looked up: handle->resolution came back. */
void zr_servers_found(struct zr_handle *handle, int64_t now_us);

#endif
