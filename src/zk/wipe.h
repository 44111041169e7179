#ifndef ZR_WIPE_H
#define ZR_WIPE_H

/* wipe.h: credentials in the library's memory. I/O thread. */

#include <stddef.h>

/* The library has sent these bytes of a buffer of its own. Overwrites them if they are credentials:
   the library frees its buffers as they are. */
void zr_wipe_sent(const void *bytes, size_t sent);

#endif
