#ifndef ZR_KERBEROS_EXCHANGE_H
#define ZR_KERBEROS_EXCHANGE_H

/* exchange.h: the functions of the table; module.c guards them. See kerberos.h. */

#include "kerberos/kerberos.h"

struct zr_kerberos *zr_kerberos_open(const char *service, const char *user, const char *keytab);
void zr_kerberos_step(struct zr_kerberos *exchange, const void *token, size_t length,
                      struct zr_kerberos_answer *answer);
void zr_kerberos_close(struct zr_kerberos *exchange);

#endif
