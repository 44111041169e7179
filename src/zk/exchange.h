#ifndef ZR_EXCHANGE_H
#define ZR_EXCHANGE_H

/*
 * exchange.h: an exchange of Kerberos with one server. Each step runs on a helper thread, because
 * it may wait for a KDC, and the I/O thread must not. All functions: the I/O thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "core/zk.h"
#include "kerberos/kerberos.h"
#include "zk/mailbox.h"

struct zr_exchange;

/* gives: an exchange with the ZooKeeper server of this host; null: no memory, or no kerberos.so.
   keeps: wake, which lives as long as the process; it is woken after each step. */
struct zr_exchange *zr_exchange_new(const struct zr_sasl_options *options, const char *host,
                                    struct zr_mailbox *wake);

/* takes: exchange, which may be null, or busy: then the helper thread frees it. */
void zr_exchange_free(struct zr_exchange *exchange);

/* Begins a step with the server's token, at first with none. borrows: token. False: no memory, no
   thread can be started, or many of them wait in vain. */
bool zr_exchange_step(struct zr_exchange *exchange, const void *token, size_t length);

/* True until the step is done. */
bool zr_exchange_busy(const struct zr_exchange *exchange);

/* What the last step gave, when it is done. */
const struct zr_kerberos_answer *zr_exchange_answer(const struct zr_exchange *exchange);

#endif
