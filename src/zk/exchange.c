/*
 * 1. A step begins: the server's token is copied, and a helper thread takes over.
 * 2. It is done: the helper thread wakes the I/O thread.
 *
 * What can go wrong: the connection ends meanwhile. Then the helper thread frees the exchange. If a
 * KDC does not answer, every attempt to connect leaves such a thread behind for a while; so when
 * there are many of them, no other begins.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/exchange.h"

#include <stdatomic.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/pid.h"
#include "zk/secure_load.h"
#include "zk/thread.h"

#define MOST_ABANDONED 16

static atomic_int abandoned; /* helper threads for which nobody waits */
static int64_t counted_in;   /* the process that they are threads of */

enum state { IDLE, BUSY, ABANDONED };

struct zr_exchange {
    const struct zr_kerberos_table *table;
    struct zr_kerberos *kerberos;
    struct zr_mailbox *wake;
    struct zr_kerberos_answer answer;
    void *token; /* the server's, or null */
    size_t length;
    _Atomic int state; /* the helper thread owns the exchange while it is BUSY or ABANDONED */
};

struct zr_exchange *zr_exchange_new(const struct zr_sasl_options *options, const char *host,
                                    struct zr_mailbox *wake)
{
    char service[300];
    const struct zr_kerberos_table *table = zr_secure_kerberos();
    struct zr_exchange *exchange = table != NULL ? zr_alloc(sizeof *exchange) : NULL;
    if (exchange == NULL)
        return NULL;
    if (counted_in != zr_pid()) /* a forked child has none of them */
        atomic_store(&abandoned, 0);
    counted_in = zr_pid();
    snprintf(service, sizeof service, "zookeeper@%s", host);
    exchange->table = table;
    exchange->wake = wake;
    exchange->kerberos = table->open(service, options->user, options->keytab);
    if (exchange->kerberos != NULL)
        return exchange;
    zr_free(exchange);
    return NULL;
}

static void destroy(struct zr_exchange *exchange)
{
    exchange->table->close(exchange->kerberos);
    zr_free(exchange->token);
    zr_free(exchange);
}

void zr_exchange_free(struct zr_exchange *exchange)
{
    int busy = BUSY;
    if (exchange == NULL)
        return;
    atomic_fetch_add(&abandoned, 1);
    if (atomic_compare_exchange_strong(&exchange->state, &busy, ABANDONED))
        return;
    atomic_fetch_sub(&abandoned, 1);
    destroy(exchange);
}

static void *run(void *with)
{
    struct zr_exchange *exchange = with;
    struct zr_mailbox *wake = exchange->wake;
    int busy = BUSY;
    exchange->table->step(exchange->kerberos, exchange->token, exchange->length, &exchange->answer);
    if (atomic_compare_exchange_strong(&exchange->state, &busy, IDLE)) {
        zr_mailbox_wake(wake);
        return NULL;
    }
    destroy(exchange);
    atomic_fetch_sub(&abandoned, 1);
    return NULL;
}

bool zr_exchange_step(struct zr_exchange *exchange, const void *token, size_t length)
{
    zr_free(exchange->token);
    exchange->token = length > 0 ? zr_copy(token, length) : NULL;
    exchange->length = length;
    if (atomic_load(&abandoned) >= MOST_ABANDONED || (length > 0 && exchange->token == NULL))
        return false;
    atomic_store(&exchange->state, BUSY);
    if (zr_thread_start(run, exchange))
        return true;
    atomic_store(&exchange->state, IDLE);
    return false;
}

bool zr_exchange_busy(const struct zr_exchange *exchange)
{
    return atomic_load(&exchange->state) == BUSY;
}

const struct zr_kerberos_answer *zr_exchange_answer(const struct zr_exchange *exchange)
{
    return &exchange->answer;
}
