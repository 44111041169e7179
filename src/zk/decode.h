#ifndef ZR_DECODE_H
#define ZR_DECODE_H

/*
 * decode.h: checks the bytes of a server before the client library trusts them.
 *
 * The library ignores the result of every decoding. It passes on counts without elements and
 * pointers that were never set, and it aborts the process if an answer matches no request. So it
 * decodes through this file: it is linked with --wrap=create_buffer_iarchive. Only what the frame
 * holds can be read; the rest of the record is zero. If a frame as a whole is invalid, the library
 * sees an answer to a ping instead, which it drops.
 *
 * An invalid frame makes the handle unfit: its connection is given up, and the log says so. All
 * functions: the I/O thread, for the handle in zr_completion_handle.
 */

#include "core/status.h"

/* Call these around each zookeeper_process: only inside it may a frame come from the server. */
void zr_decode_begin(void);
void zr_decode_end(void);

/*
 * While the library calls a completion: what became of the answer. ZR_OK: it is whole, or the
 * library's own. ZR_CONNECTION_LOSS: it is invalid. ZR_TOO_LARGE; ZR_NO_MEMORY: there was none for
 * the answer, or for a part of it. Unless it is whole, the record is zero from some point on.
 */
enum zr_status zr_decode_result(void);

/* Makes the handle unfit, and says so in the log. borrows: what, "an answer that ...". */
void zr_decode_blame(const char *what);

#endif
