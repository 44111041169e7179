/*
 * The table, and the ends of the process.
 *
 * OpenSSL cleans up when the process exits (a host that uses it too has perhaps asked for that),
 * and the I/O thread may be inside of OpenSSL then. So every call holds a mutex. At the exit,
 * before OpenSSL cleans up (what is registered last runs first), we wait for the call that runs.
 * All later ones fail. They must not wait: the host may still close its sessions, and waits for the
 * I/O thread.
 *
 * A fork waits for the call that runs, too. So in the child the mutex is free, and OpenSSL is
 * whole.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "tls/parts.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool stopped;

static void lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void leave(void)
{
    pthread_mutex_unlock(&mutex);
}

static void stop(void)
{
    lock();
    stopped = true;
    leave();
}

static void begin(void)
{
    OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
    atexit(stop);
    pthread_atfork(lock, leave, leave);
}

/* False: the process exits. */
static bool enter(struct zr_tls_failure *why)
{
    lock();
    if (!stopped)
        return true;
    leave();
    *why = (struct zr_tls_failure){.error = ESHUTDOWN, .text = "the process exits"};
    return false;
}

static struct zr_tls *guarded_open(const struct zr_tls_files *files, int fd, const char *name,
                                   struct zr_tls_failure *why)
{
    pthread_once(&once, begin);
    if (!enter(why))
        return NULL;
    struct zr_tls *tls = zr_tls_open(files, fd, name, why);
    leave();
    return tls;
}

static enum zr_tls_step guarded_shake(struct zr_tls *tls)
{
    if (!enter(tls->why))
        return ZR_TLS_FAILED;
    enum zr_tls_step step = zr_tls_shake(tls);
    leave();
    return step;
}

static ssize_t guarded_write(struct zr_tls *tls, const void *bytes, size_t length)
{
    if (!enter(tls->why))
        return -1;
    ssize_t taken = zr_tls_write(tls, bytes, length);
    leave();
    return taken;
}

static enum zr_tls_step guarded_flush(struct zr_tls *tls)
{
    if (!enter(tls->why))
        return ZR_TLS_FAILED;
    enum zr_tls_step step = zr_tls_flush(tls);
    leave();
    return step;
}

static ssize_t guarded_read(struct zr_tls *tls, void *to, size_t length)
{
    errno = ESHUTDOWN;
    if (!enter(tls->why))
        return -1;
    ssize_t got = zr_tls_read(tls, to, length);
    leave();
    return got;
}

static bool guarded_holds(const struct zr_tls *tls)
{
    if (!enter(tls->why))
        return false;
    bool holds = zr_tls_holds(tls);
    leave();
    return holds;
}

static bool guarded_unsent(const struct zr_tls *tls)
{
    if (!enter(tls->why))
        return false;
    bool unsent = zr_tls_unsent(tls);
    leave();
    return unsent;
}

/* At the exit it is not freed. */
static void guarded_close(struct zr_tls *tls)
{
    if (!enter(tls->why))
        return;
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
