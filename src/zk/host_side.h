#ifndef ZR_HOST_SIDE_H
#define ZR_HOST_SIDE_H

/* host_side.h: core/zk.h on the real ZooKeeper client, as the host uses it. */

#include <stdbool.h>

#include "core/status.h"
#include "core/zk.h"

/*
 * gives: an instance, which zk->free takes back; one for each engine, to be used by one thread at
 * a time. All instances share one I/O thread, which starts with the first open.
 * Errors: ZR_NO_MEMORY (also: no file descriptor is left).
 */
enum zr_status zr_zk_client_new(struct zr_zk **zk);

/* Loads what TLS needs, which stays loaded. Returns null, or why there is no TLS in this process
   and what to install. The text is static. Any thread. */
const char *zr_zk_tls_problem(void);

/* The same for SASL with these options. */
const char *zr_zk_sasl_problem(const struct zr_sasl_options *options);

/* True if another file is now where this module was loaded from, or none: the package was upgraded
   or removed, and what is loaded from it from now on may not fit. Any thread. */
bool zr_zk_replaced(void);

#endif
