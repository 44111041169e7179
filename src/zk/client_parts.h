#ifndef ZR_CLIENT_PARTS_H
#define ZR_CLIENT_PARTS_H

/*
 * client_parts.h: what the files share that see the client library: client.c drives it,
 * client_call.c and client_multi.c give it requests. No other file includes it. The I/O thread.
 */

#include <zookeeper/zookeeper.h>

#include "zk/handle.h"

/* Gives the request to the library and returns its code: ZOK, and the completion will be called;
   or why it was not sent. keeps: request, until the completion. */
int zr_client_call(struct zr_handle *handle, struct zr_request *request);

/* As zr_client_call, for a transaction. */
int zr_client_call_multi(struct zr_handle *handle, struct zr_request *request);

/* The number of parts of the transaction that will be answered next; 0: none is in flight. */
size_t zr_client_multi_parts(const struct zr_handle *handle);

/* The watcher of the handle `with`, for its session and for all paths. */
void zr_client_on_event(zhandle_t *zh, int type, int state, const char *path, void *with);

#endif
