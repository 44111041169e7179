#ifndef ZR_SECURE_LOAD_H
#define ZR_SECURE_LOAD_H

/* secure_load.h: loads tls.so and kerberos.so, which lie beside the module, when a session asks for
   TLS, or for SASL with GSSAPI, for the first time. They stay loaded. Any thread. See
   zr_zk_tls_problem in host_side.h. */

#include "kerberos/kerberos.h"
#include "tls/tls.h"

/* The table of tls.so; null: it cannot be loaded. Static. */
const struct zr_tls_table *zr_secure_table(void);

/* The table of kerberos.so; null: it cannot be loaded. Static. */
const struct zr_kerberos_table *zr_secure_kerberos(void);

#endif
