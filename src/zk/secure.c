/*
 * 1. The library connects, and we get ready (secure_connect.c).
 * 2. What the library sends and receives passes through TLS, or as it is.
 * 3. The library closes its descriptor; we close the socket.
 *
 * What can go wrong: anything before 2 ends the attempt. The library then calls send or recv, which
 * fails, and takes the next server. After that the connection is lost as a plain one is.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/secure.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/tls_options.h"
#include "zk/secure_load.h"
#include "zk/secure_parts.h"

#define LENGTH 4 /* bytes that state the length of a packet */

int __real_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length);
ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __real_recv(int fd, void *to, size_t size, int flags);

/* ---- Making -------------------------------------------------------------------------------- */

struct zr_secure *zr_secure_new(const struct zr_tls_options *tls,
                                const struct zr_sasl_options *sasl, struct zr_mailbox *wake)
{
    struct zr_secure *secure = zr_alloc(sizeof *secure);
    if (secure == NULL)
        return NULL;
    secure->table = tls->wanted ? zr_secure_table() : &zr_secure_plain;
    secure->login = sasl->wanted ? zr_login_new(sasl, wake) : NULL;
    secure->fd = secure->library_fd = -1;
    bool made = secure->table != NULL && (secure->login != NULL || !sasl->wanted);
    if (made && zr_tls_options_copy(&secure->options, tls))
        return secure;
    zr_secure_free(secure);
    return NULL;
}

void zr_secure_free(struct zr_secure *secure)
{
    if (secure == NULL)
        return;
    zr_secure_drop(secure);
    zr_tls_options_fini(&secure->options);
    zr_login_free(secure->login);
    zr_free(secure->names);
    zr_free(secure);
}

void zr_secure_learn(struct zr_secure *secure, char *names)
{
    zr_free(secure->names);
    secure->names = names;
}

void zr_secure_drop(struct zr_secure *secure)
{
    if (secure->login != NULL)
        zr_login_end(secure->login);
    if (secure->tls != NULL)
        secure->table->close(secure->tls);
    secure->tls = NULL;
    if (secure->fd >= 0)
        close(secure->fd);
    secure->fd = secure->library_fd = -1;
    secure->state = ZR_SECURE_NONE;
    secure->unreached = secure->login_failed = secure->refused = secure->heard = false;
    secure->failure = (struct zr_tls_failure){.error = 0};
}

void zr_secure_give_up(struct zr_secure *secure)
{
    if (secure->state == ZR_SECURE_LOGIN)
        secure->state = ZR_SECURE_FAILED;
}

/* ---- What the library calls ---------------------------------------------------------------- */

/* Null in a host's thread, which calls connect and send too. */
static _Thread_local struct zr_secure *entered;

void zr_secure_enter(struct zr_secure *secure)
{
    entered = secure;
}

static bool is_library(int fd)
{
    return entered != NULL && fd >= 0 && fd == entered->library_fd;
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length)
{
    if (entered != NULL)
        return zr_secure_connect(entered, fd, address, length);
    return __real_connect(fd, address, length);
}

static ssize_t unusable(const struct zr_secure *secure)
{
    errno = secure->failure.error != 0 ? secure->failure.error : EPIPE;
    return -1;
}

/* Bytes of the answer to the handshake that were kept back. */
static size_t held(const struct zr_secure *secure)
{
    return secure->login != NULL ? zr_login_left(secure->login) : 0;
}

/* A failure of TLS is one of the connection. */
static void note_failure(struct zr_secure *secure)
{
    if (secure->failure.error != 0)
        secure->state = ZR_SECURE_FAILED;
}

static ssize_t nothing_now(void)
{
    errno = EAGAIN;
    return -1;
}

static ssize_t write_some(struct zr_secure *secure, const void *bytes, size_t size)
{
    ssize_t taken = secure->table->write(secure->tls, bytes, size);
    note_failure(secure);
    if (taken != 0)
        return taken > 0 ? taken : unusable(secure);
    return nothing_now();
}

/* The library's handshake. The socket is new, so there is room for all of it. */
static ssize_t greet(struct zr_secure *secure, const void *bytes, size_t size)
{
    size_t allowed = zr_login_allows(secure->login, bytes, size);
    ssize_t taken = allowed > 0 ? write_some(secure, bytes, allowed) : nothing_now();
    if (taken >= 0 && (size_t)taken < allowed) {
        secure->state = ZR_SECURE_FAILED;
        return unusable(secure);
    }
    if (secure->state == ZR_SECURE_GREETING && zr_login_greeted(secure->login))
        secure->state = ZR_SECURE_LOGIN;
    return taken;
}

/* Before the server knows who we are, nothing but the handshake leaves. */
static ssize_t secure_send(struct zr_secure *secure, const void *bytes, size_t size)
{
    if (secure->state == ZR_SECURE_GREETING)
        return greet(secure, bytes, size);
    if (secure->state == ZR_SECURE_LOGIN)
        return nothing_now();
    return secure->state == ZR_SECURE_UP ? write_some(secure, bytes, size) : unusable(secure);
}

/*
 * The library sends the length of a packet, and then the packet. One segment for both saves the
 * server a wake-up. (If the socket takes all of a packet but its last four bytes, they may come
 * 200 ms late: then the kernel waits no longer for more.)
 */
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
    if (is_library(fd))
        return secure_send(entered, bytes, size);
    return __real_send(fd, bytes, size, size == LENGTH ? flags | MSG_MORE : flags);
}

ssize_t zr_secure_recv(struct zr_secure *secure, void *to, size_t size)
{
    bool up = secure->state == ZR_SECURE_UP;
    if (secure->state == ZR_SECURE_GREETING || secure->state == ZR_SECURE_LOGIN)
        return nothing_now();
    if ((up || secure->state == ZR_SECURE_OVER) && held(secure) > 0)
        return (ssize_t)zr_login_give(secure->login, to, size);
    if (!up)
        return unusable(secure);
    ssize_t got = secure->table->read(secure->tls, to, size);
    int error = errno;
    note_failure(secure);
    errno = error;
    return got;
}

ssize_t zr_secure_library_recv(int fd, void *to, size_t size, int flags)
{
    return is_library(fd) ? zr_secure_recv(entered, to, size) : __real_recv(fd, to, size, flags);
}

/* ---- For the handle ------------------------------------------------------------------------- */

int zr_secure_fd(const struct zr_secure *secure)
{
    bool busy = secure->state == ZR_SECURE_LOGIN && zr_login_busy(secure->login);
    return busy ? -1 : secure->fd;
}

bool zr_secure_shaking(const struct zr_secure *secure)
{
    return secure->state == ZR_SECURE_CONNECTING || secure->state == ZR_SECURE_SHAKING ||
           secure->state == ZR_SECURE_LOGIN;
}

bool zr_secure_due(const struct zr_secure *secure)
{
    return secure->state == ZR_SECURE_LOGIN && zr_login_due(secure->login);
}

bool zr_secure_heard(struct zr_secure *secure)
{
    bool heard = secure->heard || (secure->login != NULL && zr_login_heard(secure->login));
    secure->heard = false;
    return heard;
}

void zr_secure_silence(const struct zr_secure *secure, struct zr_silence *silence)
{
    bool login = secure->state == ZR_SECURE_LOGIN;
    const char *missing = login ? zr_login_awaited(secure->login) : NULL;
    silence->server = secure->server;
    if (secure->state == ZR_SECURE_SHAKING) {
        silence->unanswered = "the handshake of TLS";
        silence->advice = "is this its port for TLS (secureClientPort)?";
    } else if (missing != NULL) {
        silence->unanswered = "the handshake of SASL";
        silence->advice = missing;
    }
}

bool zr_secure_up(const struct zr_secure *secure)
{
    return secure->state == ZR_SECURE_UP;
}

bool zr_secure_unsent(const struct zr_secure *secure)
{
    if (secure->state == ZR_SECURE_LOGIN && zr_login_unsent(secure->login))
        return true;
    return secure->tls != NULL && secure->state != ZR_SECURE_FAILED &&
           secure->table->unsent(secure->tls);
}

short zr_secure_events(const struct zr_secure *secure, short events)
{
    short more = zr_secure_unsent(secure) ? POLLOUT : 0;
    if (secure->state == ZR_SECURE_CONNECTING)
        return POLLOUT;
    return (short)((zr_secure_shaking(secure) ? POLLIN : events) | more);
}

bool zr_secure_flush(struct zr_secure *secure)
{
    if (secure->state != ZR_SECURE_UP && secure->state != ZR_SECURE_LOGIN)
        return secure->state != ZR_SECURE_FAILED;
    secure->table->flush(secure->tls);
    note_failure(secure);
    return secure->state != ZR_SECURE_FAILED;
}

bool zr_secure_holds(const struct zr_secure *secure)
{
    return secure->state == ZR_SECURE_UP && (held(secure) > 0 || secure->table->holds(secure->tls));
}

const char *zr_secure_failure(struct zr_secure *secure)
{
    if (secure->state == ZR_SECURE_LOGIN && zr_login_busy(secure->login)) {
        snprintf(secure->line, sizeof secure->line,
                 "%s: SASL: Kerberos did not answer in time; is a KDC of the realm reachable?",
                 secure->server);
        return secure->line;
    }
    if (secure->state != ZR_SECURE_FAILED || secure->failure.text[0] == '\0')
        return NULL;
    const char *layer = secure->login_failed ? "SASL: " : secure->tls != NULL ? "TLS: " : "";
    snprintf(secure->line, sizeof secure->line, "%s: %s%s", secure->server, layer,
             secure->failure.text);
    return secure->line;
}

bool zr_secure_refused(const struct zr_secure *secure)
{
    return secure->state == ZR_SECURE_FAILED && secure->refused;
}

bool zr_secure_tried(const struct zr_secure *secure)
{
    return secure->state == ZR_SECURE_UP || secure->state == ZR_SECURE_OVER ||
           secure->state == ZR_SECURE_LOGIN ||
           (secure->state == ZR_SECURE_FAILED && !secure->unreached);
}
