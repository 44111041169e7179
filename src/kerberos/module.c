/*
 * The table, and the end of the process.
 *
 * Kerberos frees its tables when the process exits, and a helper thread may be inside of it then,
 * perhaps because a KDC does not answer. So the exit waits for such calls, but only for a moment,
 * and what is called later fails. In a forked child there are no helper threads.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kerberos/exchange.h"

#define LONGEST_MS 250

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t owner;
static atomic_int inside;
static atomic_bool stopping;

static void stop(void)
{
    static const struct timespec millisecond = {0, 1000000};
    atomic_store(&stopping, true);
    for (int i = 0; i < LONGEST_MS && getpid() == owner && atomic_load(&inside) > 0; i++)
        nanosleep(&millisecond, NULL);
}

static void begin(void)
{
    owner = getpid();
    atexit(stop);
}

/* False: the process exits. */
static bool enter(void)
{
    pthread_once(&once, begin);
    atomic_fetch_add(&inside, 1);
    if (!atomic_load(&stopping))
        return true;
    atomic_fetch_sub(&inside, 1);
    return false;
}

static void leave(void)
{
    atomic_fetch_sub(&inside, 1);
}

static struct zr_kerberos *guarded_open(const char *service, const char *user, const char *keytab)
{
    if (!enter())
        return NULL;
    struct zr_kerberos *exchange = zr_kerberos_open(service, user, keytab);
    leave();
    return exchange;
}

static void guarded_step(struct zr_kerberos *exchange, const void *token, size_t length,
                         struct zr_kerberos_answer *answer)
{
    if (!enter()) {
        *answer = (struct zr_kerberos_answer){.problem = "the process exits"};
        return;
    }
    zr_kerberos_step(exchange, token, length, answer);
    leave();
}

static void guarded_close(struct zr_kerberos *exchange)
{
    if (!enter())
        return; /* at the exit it is not freed */
    zr_kerberos_close(exchange);
    leave();
}

__attribute__((visibility("default"))) extern const struct zr_kerberos_table zr_kerberos_table;
const struct zr_kerberos_table zr_kerberos_table = {
    .layout = ZR_KERBEROS_LAYOUT,
    .open = guarded_open,
    .step = guarded_step,
    .close = guarded_close,
};
