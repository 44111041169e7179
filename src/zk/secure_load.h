#ifndef ZR_SECURE_LOAD_H
#define ZR_SECURE_LOAD_H

/* secure_load.h: loads tls.so, which lies beside the module, when a session asks for TLS for the
   first time. It stays loaded. Any thread. See zr_zk_tls_problem in host_side.h. */

#include "tls/tls.h"

/* The table of tls.so; null: it cannot be loaded. Static. */
const struct zr_tls_table *zr_secure_table(void);

#endif
