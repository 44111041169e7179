/*
 * The table, and the end of the process.
 *
 * OpenSSL cleans up when the process exits (a host that uses it too has perhaps asked for that),
 * and the I/O thread may be inside of OpenSSL then. So every call holds a mutex. At the exit we
 * take it for good, before OpenSSL cleans up: what is registered last runs first. The I/O thread
 * then stops at its next call.
 *
 * In a forked child there is no I/O thread, and perhaps it held the mutex when the process forked.
 * So the child does not touch it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tls/parts.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pid_t owner;

static void stop(void)
{
    if (getpid() == owner)
        pthread_mutex_lock(&mutex);
}

static void begin(void)
{
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
    owner = getpid();
    atexit(stop);
}

static void enter(void)
{
    pthread_mutex_lock(&mutex);
}

static void leave(void)
{
    pthread_mutex_unlock(&mutex);
}

static struct zr_tls *guarded_open(const struct zr_tls_files *files, int fd, const char *name,
                                   struct zr_tls_failure *why)
{
    pthread_once(&once, begin);
    enter();
    struct zr_tls *tls = zr_tls_open(files, fd, name, why);
    leave();
    return tls;
}

static enum zr_tls_step guarded_shake(struct zr_tls *tls)
{
    enter();
    enum zr_tls_step step = zr_tls_shake(tls);
    leave();
    return step;
}

static ssize_t guarded_write(struct zr_tls *tls, const void *bytes, size_t length)
{
    enter();
    ssize_t taken = zr_tls_write(tls, bytes, length);
    leave();
    return taken;
}

static enum zr_tls_step guarded_flush(struct zr_tls *tls)
{
    enter();
    enum zr_tls_step step = zr_tls_flush(tls);
    leave();
    return step;
}

static ssize_t guarded_read(struct zr_tls *tls, void *to, size_t length)
{
    enter();
    ssize_t got = zr_tls_read(tls, to, length);
    leave();
    return got;
}

static bool guarded_holds(const struct zr_tls *tls)
{
    enter();
    bool holds = zr_tls_holds(tls);
    leave();
    return holds;
}

static bool guarded_unsent(const struct zr_tls *tls)
{
    enter();
    bool unsent = zr_tls_unsent(tls);
    leave();
    return unsent;
}

static void guarded_close(struct zr_tls *tls)
{
    enter();
    zr_tls_close(tls);
    leave();
}

__attribute__((visibility("default"))) extern const struct zr_tls_table zr_tls_table;
const struct zr_tls_table zr_tls_table = {
    .layout = ZR_TLS_LAYOUT,
    .open = guarded_open,
    .shake = guarded_shake,
    .write = guarded_write,
    .flush = guarded_flush,
    .read = guarded_read,
    .holds = guarded_holds,
    .unsent = guarded_unsent,
    .close = guarded_close,
};
