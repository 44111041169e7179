#ifndef ZR_CLOSING_H
#define ZR_CLOSING_H

/* closing.h: how a handle ends. The I/O thread. */

#include <stdbool.h>
#include <stdint.h>

#include "zk/handle.h"

/* When the next step is due at the latest; INT64_MAX: the handle is not closing. */
int64_t zr_closing_due_us(const struct zr_handle *handle, int64_t now_us);

/* One step, if the handle is closing. True: it has ended, and ENDED is in its `out`. */
bool zr_closing_step(struct zr_handle *handle, int64_t now_us);

#endif
