#ifndef ZR_SERVERS_H
#define ZR_SERVERS_H

/*
 * servers.h: makes a client of the library from the names of the servers, and replaces it when it
 * is of no use. The I/O thread.
 */

#include <stdint.h>

#include "zk/handle.h"

/* When the next step is due; INT64_MAX: not before something happens. */
int64_t zr_servers_due_us(const struct zr_handle *handle);

/* Does what is due: looks up names, replaces an unfit client. */
void zr_servers_step(struct zr_handle *handle, int64_t now_us);

/* The names have been looked up: handle->resolution has come back. */
void zr_servers_found(struct zr_handle *handle, int64_t now_us);

#endif
