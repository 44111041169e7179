#ifndef ZR_SASL_OPTIONS_H
#define ZR_SASL_OPTIONS_H

/* sasl_options.h: the options of SASL, copied for a session, and again for each of its handles. */

#include <stdbool.h>

#include "core/zk.h"

#define ZR_SASL_USER_MAX 255 /* bytes of a user's name */

/* Null, or why a session cannot have these options. Static. */
const char *zr_sasl_options_misuse(const struct zr_sasl_options *options);

/* True if the mechanism is GSSAPI. */
bool zr_sasl_is_kerberos(const struct zr_sasl_options *options);

/* gives: copies of the strings in `from`, which fini frees. borrows: from. False: no memory; call
   fini then too. */
bool zr_sasl_options_copy(struct zr_sasl_options *to, const struct zr_sasl_options *from);

/* Frees the copies, and overwrites the password. */
void zr_sasl_options_fini(struct zr_sasl_options *options);

#endif
