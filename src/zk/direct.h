#ifndef ZR_DIRECT_H
#define ZR_DIRECT_H

/* direct.h: the host's thread sends a request itself, if the I/O thread only waits. */

#include <stdbool.h>

#include "zk/handle.h"

/*
 * True: the request was given to the client library, as the I/O thread would have done it. keeps:
 * request, until it is in the inbox. False: nothing has changed; post it. Never waits. The host's
 * thread.
 */
bool zr_direct_send(struct zr_handle *handle, struct zr_request *request);

#endif
