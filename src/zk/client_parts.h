#ifndef ZR_CLIENT_PARTS_H
#define ZR_CLIENT_PARTS_H

/*
 * client_parts.h: what the files that see the client library share: client.c, which drives it, and
 * client_call.c and client_multi.c, which give it requests. Only for those. The I/O thread.
 */

#include <zookeeper/zookeeper.h>

#include "zk/handle.h"

/* Gives the request to the library, whose code it returns: ZOK, and the completion will come; or
   why it was not sent. keeps: request, until the completion. */
int zr_client_call(struct zr_handle *handle, struct zr_request *request);

/* The same for a transaction. */
int zr_client_call_multi(struct zr_handle *handle, struct zr_request *request);

/* How many parts the transaction has whose answer comes next; 0: none is in flight. */
size_t zr_client_multi_parts(const struct zr_handle *handle);

/* The watcher of the handle `with`, for its session and for all paths. */
void zr_client_on_event(zhandle_t *zh, int type, int state, const char *path, void *with);

#endif
