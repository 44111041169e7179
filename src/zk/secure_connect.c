/*
 * 1. The library connects. The socket becomes ours, and the library keeps one that leads nowhere.
 * 2. The socket is connected. With TLS, its handshake begins, with the name that belongs to the
 *    address.
 * 3. With SASL: the library sends its handshake, and then we log in.
 *
 * What can go wrong: anything; it ends the attempt.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "zk/resolver.h"
#include "zk/secure_parts.h"

int __real_connect(int fd, const struct sockaddr *address, socklen_t length);

/* ---- Connecting ---------------------------------------------------------------------------- */

static void cannot_connect(struct zr_secure *secure, int error)
{
    secure->failure.error = error;
    snprintf(secure->failure.text, sizeof secure->failure.text, "cannot connect: %s",
             strerror(error));
    secure->unreached = true;
    secure->state = ZR_SECURE_FAILED;
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

/* In a list of hosts a name may end with a dot; no certificate has it, and no principal. */
static void take_name(struct zr_secure *secure, const char *name)
{
    size_t length = strlen(name);
    bool dot = length > 1 && name[length - 1] == '.';
    snprintf(secure->name, sizeof secure->name, "%.*s", (int)(length - dot), name);
}

/* False: it is unknown who has to answer at this address. */
static bool choose_name(struct zr_secure *secure, const struct sockaddr *address, socklen_t length)
{
    char text[ZR_RESOLVER_ADDRESS];
    const char *name = write_address(text, address, length) ? name_of(secure, text) : NULL;
    if (name == NULL)
        return false;
    take_name(secure, name);
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

int zr_secure_connect(struct zr_secure *secure, int fd, const struct sockaddr *address,
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
    secure->state = ZR_SECURE_CONNECTING;
    if (__real_connect(secure->fd, address, length) != 0 && errno != EINPROGRESS)
        cannot_connect(secure, errno);
    errno = EINPROGRESS;
    return -1;
}

/* ---- After that ---------------------------------------------------------------------------- */

static void begin(struct zr_secure *secure)
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
    secure->state = secure->tls != NULL ? ZR_SECURE_SHAKING : ZR_SECURE_FAILED;
}

static void shaken(struct zr_secure *secure)
{
    secure->heard = secure->options.wanted;
    secure->state = secure->login != NULL ? ZR_SECURE_GREETING : ZR_SECURE_UP;
    if (secure->login != NULL)
        zr_login_begin(secure->login, secure->table, secure->tls, secure->name, &secure->failure);
}

/* False: it goes on. */
static bool log_in(struct zr_secure *secure)
{
    enum zr_login_step step = zr_login_go_on(secure->login);
    if (step == ZR_LOGIN_BLOCKED)
        return false;
    if (step == ZR_LOGIN_DONE) {
        secure->state = zr_login_is_over(secure->login) ? ZR_SECURE_OVER : ZR_SECURE_UP;
        return true;
    }
    secure->state = ZR_SECURE_FAILED;
    secure->login_failed = true;
    secure->refused = step == ZR_LOGIN_REFUSED;
    return true;
}

bool zr_secure_shake(struct zr_secure *secure)
{
    if (secure->state == ZR_SECURE_CONNECTING)
        begin(secure);
    if (secure->state == ZR_SECURE_LOGIN)
        return log_in(secure);
    if (secure->state != ZR_SECURE_SHAKING)
        return true;
    enum zr_tls_step step = secure->table->shake(secure->tls);
    if (step == ZR_TLS_BLOCKED)
        return false;
    if (step == ZR_TLS_DONE)
        shaken(secure);
    else
        secure->state = ZR_SECURE_FAILED;
    return true;
}
