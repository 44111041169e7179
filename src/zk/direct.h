#ifndef ZR_DIRECT_H
#define ZR_DIRECT_H

/* direct.h: what the host's thread does itself while the I/O thread only waits. The host's
   thread. */

#include <stdbool.h>

#include "zk/handle.h"

#define ZR_DIRECT_FEW 4 /* requests in flight */

/*
 * True: the request was given to the client library, as the I/O thread would have done it. keeps:
 * request, until it is in the inbox. False: nothing has changed; post it. Never waits.
 */
bool zr_direct_send(struct zr_handle *handle, struct zr_request *request);

/* gives: a descriptor for which the host is to wait, until zr_direct_receive; or -1: the I/O thread
   waits for it. Never waits. */
int zr_direct_watch(struct zr_handle *handle);

/* After each zr_direct_watch that gave a descriptor. revents: poll's. What has come is in the
   inbox. Waits for the end of a turn of the I/O thread. */
void zr_direct_receive(struct zr_handle *handle, short revents);

#endif
