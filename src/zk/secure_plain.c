/*
 * The table of a connection without TLS. What is written leaves at once, as far as the socket takes
 * it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <sys/socket.h>

#include "core/alloc.h"
#include "zk/secure_parts.h"

ssize_t __real_send(int fd, const void *bytes, size_t size, int flags);
ssize_t __real_recv(int fd, void *to, size_t size, int flags);

struct zr_tls {
    int fd;
    struct zr_tls_failure *why;
};

static struct zr_tls *plain_open(const struct zr_tls_files *files, int fd, const char *name,
                                 struct zr_tls_failure *why)
{
    (void)files;
    (void)name;
    struct zr_tls *plain = zr_alloc(sizeof *plain);
    *why = (struct zr_tls_failure){.error = plain != NULL ? 0 : ENOMEM};
    if (plain != NULL)
        *plain = (struct zr_tls){fd, why};
    return plain;
}

static enum zr_tls_step plain_step(struct zr_tls *plain)
{
    return plain->why->error == 0 ? ZR_TLS_DONE : ZR_TLS_FAILED;
}

/* -1: failed, or nothing now. */
static ssize_t result(struct zr_tls *plain, ssize_t count)
{
    if (count < 0 && errno != EAGAIN && errno != EINTR)
        plain->why->error = errno;
    return count;
}

static ssize_t plain_write(struct zr_tls *plain, const void *bytes, size_t length)
{
    ssize_t count = result(plain, __real_send(plain->fd, bytes, length, MSG_NOSIGNAL));
    return count < 0 && plain->why->error == 0 ? 0 : count;
}

static ssize_t plain_read(struct zr_tls *plain, void *to, size_t length)
{
    ssize_t count = result(plain, __real_recv(plain->fd, to, length, MSG_DONTWAIT));
    if (count < 0 && plain->why->error == 0)
        errno = EAGAIN;
    return count;
}

static bool nothing(const struct zr_tls *plain)
{
    (void)plain;
    return false;
}

static void plain_close(struct zr_tls *plain)
{
    zr_free(plain);
}

const struct zr_tls_table zr_secure_plain = {
    .layout = ZR_TLS_LAYOUT,
    .open = plain_open,
    .shake = plain_step,
    .write = plain_write,
    .flush = plain_step,
    .read = plain_read,
    .holds = nothing,
    .unsent = nothing,
    .close = plain_close,
};
