#ifndef ZR_REQUEST_SIZE_H
#define ZR_REQUEST_SIZE_H

/* request_size.h: how long a request is on the wire, and what is too long. Any thread. */

#include <stdbool.h>
#include <stddef.h>

#include "core/zk.h"

/*
 * What a server accepts at most with its default settings (1,048,575 bytes), less a reserve. A
 * server closes the connection on a longer request instead of refusing it.
 */
#define ZR_REQUEST_MAX 1000000

/*
 * The exact length of the request's frame in bytes, without the four bytes that carry this length.
 * A server compares the same number with its jute.maxbuffer. borrows: request.
 */
size_t zr_request_size(const struct zr_request *request);

/* A server with a lower limit than ours drops the connection instead of refusing the request. True
   if a request with this many bytes of data has lost so many answers that this is probably why. */
bool zr_lost_too_large(int losses, size_t bytes);

#endif
