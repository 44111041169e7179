#ifndef ZR_DECODE_H
#define ZR_DECODE_H

/*
 * decode.h: checks the bytes of a server before the client library trusts them.
 *
 * The library ignores the result of every decoding: it hands over counts without their elements,
 * pointers that nothing has set, and it aborts the process when it meets an answer to no request.
 * So it decodes through us: it is linked with --wrap=create_buffer_iarchive. What can be read is
 * what the frame holds; the rest of the record is zero. A frame that is nonsense as a whole is
 * shown to the library as an answer to a ping, which it drops.
 *
 * Nonsense makes the handle unfit: its connection is given up, with a sentence in the log. All
 * functions: the I/O thread, for the handle in zr_completion_handle.
 */

#include <stdbool.h>

/* Around each zookeeper_process: only there may a frame be the server's. */
void zr_decode_begin(void);
void zr_decode_end(void);

/* True while the library calls a completion with an answer that it could not read. */
bool zr_decode_failed(void);

/* Makes the handle unfit, and says so in the log. borrows: what, "an answer that ...". */
void zr_decode_blame(const char *what);

#endif
