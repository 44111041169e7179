#ifndef ZR_TLS_OPTIONS_H
#define ZR_TLS_OPTIONS_H

/* tls_options.h: the options of TLS, copied for a session, and again for each of its handles. */

#include <stdbool.h>

#include "core/zk.h"

/* gives: copies of the strings in `from`, which fini frees. borrows: from. False: no memory; call
   fini then too. */
bool zr_tls_options_copy(struct zr_tls_options *to, const struct zr_tls_options *from);

/* Frees the copies, and overwrites the password. */
void zr_tls_options_fini(struct zr_tls_options *options);

#endif
