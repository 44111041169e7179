/*
 * 1. The library connects. The socket becomes ours, and the library keeps one that leads nowhere.
 * 2. The socket is connected: TLS begins, with the name that belongs to the address.
 * 3. The handshake is done: what the library sends and receives is encrypted.
 * 4. The library closes its descriptor; we close the socket.
 *
 * What can go wrong: anything before 3 ends the attempt. The library then calls send, which fails,
 * and takes the next server. After 3 the connection is lost as a plain one is.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/secure.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/tls_options.h"
#include "tls/tls.h"
#include "zk/resolver.h"
#include "zk/secure_load.h"
#include "zk/wipe.h"

int __real_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t length);
ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __real_recv(int fd, void *to, size_t size, int flags);

enum state { NONE, CONNECTING, SHAKING, UP, FAILED };

struct zr_secure {
    const struct zr_tls_table *table;
    struct zr_tls_options options; /* ours */
    char *names;                   /* pairs of address and name, each ends with a NUL; or null */
    enum state state;
    bool unreached; /* failed: it is not TLS that has failed */
    int fd;         /* the socket, or -1 */
    int library_fd; /* what the library takes for it */
    struct zr_tls *tls;
    struct zr_tls_failure failure;
    char name[256];   /* that the server has to prove */
    char server[360]; /* the server, for messages */
    char line[900];   /* of zr_secure_failure */
};

/* ---- Making -------------------------------------------------------------------------------- */

struct zr_secure *zr_secure_new(const struct zr_tls_options *options)
{
    struct zr_secure *secure = zr_alloc(sizeof *secure);
    if (secure == NULL)
        return NULL;
    secure->table = zr_secure_table();
    secure->fd = secure->library_fd = -1;
    if (secure->table != NULL && zr_tls_options_copy(&secure->options, options))
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
    if (secure->tls != NULL)
        secure->table->close(secure->tls);
    secure->tls = NULL;
    if (secure->fd >= 0)
        close(secure->fd);
    secure->fd = secure->library_fd = -1;
    secure->state = NONE;
    secure->unreached = false;
    secure->failure = (struct zr_tls_failure){.error = 0};
}

/* ---- Connecting ---------------------------------------------------------------------------- */

static void cannot_connect(struct zr_secure *secure, int error)
{
    secure->failure.error = error;
    snprintf(secure->failure.text, sizeof secure->failure.text, "cannot connect: %s",
             strerror(error));
    secure->unreached = true;
    secure->state = FAILED;
}

/* As the resolver writes it. */
static bool write_address(char *room, const struct sockaddr *address, socklen_t length)
{
    char host[ZR_RESOLVER_ADDRESS - 8], port[8];
    if (getnameinfo(address, length, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    snprintf(room, ZR_RESOLVER_ADDRESS, "%s:%s", host, port);
    return true;
}

static const char *name_of(const struct zr_secure *secure, const char *address)
{
    if (secure->options.name != NULL)
        return secure->options.name;
    for (const char *at = secure->names; at != NULL && *at != '\0';) {
        const char *name = at + strlen(at) + 1;
        if (strcmp(at, address) == 0)
            return name;
        at = name + strlen(name) + 1;
    }
    return NULL;
}

/* False: it is unknown who has to answer at this address. */
static bool choose_name(struct zr_secure *secure, const struct sockaddr *address, socklen_t length)
{
    char text[ZR_RESOLVER_ADDRESS];
    const char *name = write_address(text, address, length) ? name_of(secure, text) : NULL;
    if (name == NULL)
        return false;
    snprintf(secure->name, sizeof secure->name, "%s", name);
    if (strncmp(text, name, strlen(name)) == 0)
        snprintf(secure->server, sizeof secure->server, "%s", text);
    else
        snprintf(secure->server, sizeof secure->server, "%s (%s)", name, text);
    return true;
}

/* Keeps the socket behind the library's descriptor, and leaves another one there. */
static bool take_socket(struct zr_secure *secure, int library_fd, int family)
{
    int nowhere = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    secure->fd = nowhere >= 0 ? fcntl(library_fd, F_DUPFD_CLOEXEC, 0) : -1;
    bool taken = secure->fd >= 0 && dup3(nowhere, library_fd, O_CLOEXEC) >= 0;
    int error = errno;
    if (nowhere >= 0)
        close(nowhere);
    if (!taken)
        zr_secure_drop(secure);
    errno = error;
    return taken;
}

/* It never succeeds at once: the library would send its handshake before ours. */
static int secure_connect(struct zr_secure *secure, int fd, const struct sockaddr *address,
                          socklen_t length)
{
    zr_secure_drop(secure);
    if (!choose_name(secure, address, length)) {
        errno = EDESTADDRREQ;
        return -1;
    }
    if (!take_socket(secure, fd, address->sa_family))
        return -1;
    secure->library_fd = fd;
    secure->state = CONNECTING;
    if (__real_connect(secure->fd, address, length) != 0 && errno != EINPROGRESS)
        cannot_connect(secure, errno);
    errno = EINPROGRESS;
    return -1;
}

static void begin_tls(struct zr_secure *secure)
{
    const struct zr_tls_options *options = &secure->options;
    struct zr_tls_files files = {.ca = options->ca,
                                 .cert = options->cert,
                                 .key = options->key,
                                 .password = options->password,
                                 .any_server = options->any_server};
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(secure->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (error != 0) {
        cannot_connect(secure, error);
        return;
    }
    secure->tls = secure->table->open(&files, secure->fd, secure->name, &secure->failure);
    secure->state = secure->tls != NULL ? SHAKING : FAILED;
}

bool zr_secure_shake(struct zr_secure *secure)
{
    if (secure->state == CONNECTING)
        begin_tls(secure);
    if (secure->state != SHAKING)
        return true;
    enum zr_tls_step step = secure->table->shake(secure->tls);
    if (step == ZR_TLS_BLOCKED)
        return false;
    secure->state = step == ZR_TLS_DONE ? UP : FAILED;
    return true;
}

/* ---- What the library calls ---------------------------------------------------------------- */

/* Only the I/O thread sets it, and the host's thread calls connect and send too. */
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
        return secure_connect(entered, fd, address, length);
    return __real_connect(fd, address, length);
}

static ssize_t unusable(const struct zr_secure *secure)
{
    errno = secure->failure.error != 0 ? secure->failure.error : EPIPE;
    return -1;
}

/* A failure of TLS is one of the connection. */
static void note_failure(struct zr_secure *secure)
{
    if (secure->failure.error != 0)
        secure->state = FAILED;
}

static ssize_t secure_send(struct zr_secure *secure, const void *bytes, size_t size)
{
    if (secure->state != UP)
        return unusable(secure);
    ssize_t taken = secure->table->write(secure->tls, bytes, size);
    note_failure(secure);
    if (taken != 0)
        return taken > 0 ? taken : unusable(secure);
    errno = EAGAIN;
    return -1;
}

ssize_t __wrap_send(int fd, const void *bytes, size_t size, int flags)
{
    ssize_t sent =
        is_library(fd) ? secure_send(entered, bytes, size) : __real_send(fd, bytes, size, flags);
    if (sent > 0)
        zr_wipe_sent(bytes, (size_t)sent);
    return sent;
}

ssize_t zr_secure_recv(struct zr_secure *secure, void *to, size_t size)
{
    if (secure->state != UP)
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
    return secure->fd;
}

bool zr_secure_shaking(const struct zr_secure *secure)
{
    return secure->state == CONNECTING || secure->state == SHAKING;
}

bool zr_secure_up(const struct zr_secure *secure)
{
    return secure->state == UP;
}

bool zr_secure_unsent(const struct zr_secure *secure)
{
    return secure->tls != NULL && secure->state != FAILED && secure->table->unsent(secure->tls);
}

short zr_secure_events(const struct zr_secure *secure, short events)
{
    short more = zr_secure_unsent(secure) ? POLLOUT : 0;
    if (secure->state == CONNECTING)
        return POLLOUT;
    return (short)((secure->state == SHAKING ? POLLIN : events) | more);
}

bool zr_secure_flush(struct zr_secure *secure)
{
    if (secure->state != UP)
        return secure->state != FAILED;
    secure->table->flush(secure->tls);
    note_failure(secure);
    return secure->state != FAILED;
}

bool zr_secure_holds(const struct zr_secure *secure)
{
    return secure->state == UP && secure->table->holds(secure->tls);
}

const char *zr_secure_failure(struct zr_secure *secure)
{
    if (secure->state != FAILED || secure->failure.text[0] == '\0')
        return NULL;
    snprintf(secure->line, sizeof secure->line, "%s: %s%s", secure->server,
             secure->tls != NULL ? "TLS: " : "", secure->failure.text);
    return secure->line;
}

bool zr_secure_tried(const struct zr_secure *secure)
{
    return secure->state == UP || (secure->state == FAILED && !secure->unreached);
}
