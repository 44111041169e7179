#ifndef ZR_LIBRARY_LOG_H
#define ZR_LIBRARY_LOG_H

/*
 * library_log.h: the client library's log lines in plain words.
 * Thread: any.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * text: a line of the library, without time, level and function. Returns `line` with the plain text
 * in it, or `text` itself if that is plain enough. borrows: both.
 */
const char *zr_library_log_plain(const char *text, char *line, size_t size);

/* True if this line of the library (the whole line) says that a connection has ended; not if the
   session has. */
bool zr_library_log_is_end(const char *line);

/* True if this line of the library (the whole line) says that a server has been silent for too
   long. */
bool zr_library_log_is_late(const char *line);

#endif
