#ifndef ZR_LIBRARY_LOG_H
#define ZR_LIBRARY_LOG_H

/*
 * library_log.h: the client library's log lines in plain words.
 * Thread: any.
 */

#include <stddef.h>

/*
 * text: a line of the library, without time, level and function. Returns `line` with the plain text
 * in it, or `text` itself if that is plain enough. borrows: both.
 */
const char *zr_library_log_plain(const char *text, char *line, size_t size);

#endif
