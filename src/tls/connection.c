/*
 * 1. The certificates are read, and the server's name is set.
 * 2. The handshake goes on whenever the socket is ready.
 * 3. What is written is gathered, so that a batch of small requests becomes one record. flush
 *    encrypts it and sends it.
 * 4. read gives all that is wanted, or all that there is.
 *
 * OpenSSL reads from the socket but writes to memory, and we send from there. So it never finds the
 * socket full: while a write of its own is blocked, it could not answer a KeyUpdate, and would end
 * the connection. And there is no SIGPIPE.
 *
 * What can go wrong: anything; the failure is explained once, and from then on every call fails.
 * With TLS 1.3 the server may refuse our certificate only after the handshake, so that a read says
 * so.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "tls/parts.h"

/* ---- Opening ------------------------------------------------------------------------------- */

/* An address must not be announced, only verified. For OpenSSL an empty name is none, and one that
   begins with a dot is every name that ends so. */
static bool expect(SSL *ssl, const char *name, struct zr_tls_failure *why)
{
    unsigned char binary[sizeof(struct in6_addr)];
    if (name[0] == '\0' || name[0] == '.') {
        why->error = EPROTO;
        snprintf(why->text, sizeof why->text,
                 "no server has the name '%.60s'; correct hosts, or set tls.name", name);
        return false;
    }
    if (inet_pton(AF_INET, name, binary) == 1 || inet_pton(AF_INET6, name, binary) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

/* The server asks for a certificate, and we have none. It may be content with that. */
static int on_asked(SSL *ssl, X509 **certificate, EVP_PKEY **key)
{
    (void)certificate;
    (void)key;
    struct zr_tls *tls = SSL_get_app_data(ssl);
    tls->asked = true;
    return 0;
}

static bool prepare(struct zr_tls *tls)
{
    SSL_CTX_set_client_cert_cb(tls->context, on_asked);
    tls->ssl = SSL_new(tls->context);
    BIO *inward = BIO_new_socket(tls->fd, BIO_NOCLOSE);
    tls->outward = BIO_new(BIO_s_mem());
    if (tls->ssl == NULL || inward == NULL || tls->outward == NULL) {
        BIO_free(inward);
        BIO_free(tls->outward);
        return false;
    }
    SSL_set_bio(tls->ssl, inward, tls->outward);
    SSL_set_connect_state(tls->ssl);
    return SSL_set_app_data(tls->ssl, tls) == 1 && expect(tls->ssl, tls->name, tls->why);
}

struct zr_tls *zr_tls_open(const struct zr_tls_files *files, int fd, const char *name,
                           struct zr_tls_failure *why)
{
    *why = (struct zr_tls_failure){.error = 0};
    SSL_CTX *context = zr_tls_context(files, why);
    if (context == NULL)
        return NULL;
    struct zr_tls *tls = OPENSSL_zalloc(sizeof *tls);
    if (tls == NULL) {
        SSL_CTX_free(context);
        why->error = ENOMEM;
        return NULL;
    }
    tls->context = context;
    tls->fd = fd;
    tls->why = why;
    snprintf(tls->name, sizeof tls->name, "%s", name);
    if (prepare(tls))
        return tls;
    if (why->error == 0)
        zr_tls_explain(tls, SSL_ERROR_SSL, 0);
    zr_tls_close(tls);
    return NULL;
}

/* ---- Sending ------------------------------------------------------------------------------- */

static enum zr_tls_step failed(struct zr_tls *tls, int kind, int error)
{
    zr_tls_explain(tls, kind, error);
    return ZR_TLS_FAILED;
}

/* Sends what is encrypted already. */
static enum zr_tls_step push(struct zr_tls *tls)
{
    char *at = NULL;
    size_t length = (size_t)BIO_get_mem_data(tls->outward, &at);
    while (tls->sent < length) {
        ssize_t part = send(tls->fd, at + tls->sent, length - tls->sent, MSG_NOSIGNAL);
        if (part < 0 && errno == EINTR)
            continue;
        if (part < 0 && errno == EAGAIN)
            return ZR_TLS_BLOCKED;
        if (part < 0)
            return failed(tls, SSL_ERROR_SYSCALL, errno);
        tls->sent += (size_t)part;
    }
    if (length > 0)
        (void)BIO_reset(tls->outward);
    tls->sent = 0;
    return ZR_TLS_DONE;
}

enum zr_tls_step zr_tls_flush(struct zr_tls *tls)
{
    if (tls->why->error != 0)
        return ZR_TLS_FAILED;
    enum zr_tls_step step = push(tls);
    if (step != ZR_TLS_DONE || tls->filled == 0)
        return step;
    ERR_clear_error();
    int rc = SSL_write(tls->ssl, tls->gathered, (int)tls->filled);
    if (rc <= 0)
        return failed(tls, SSL_get_error(tls->ssl, rc), 0);
    OPENSSL_cleanse(tls->gathered, tls->filled);
    tls->filled = 0;
    return push(tls);
}

ssize_t zr_tls_write(struct zr_tls *tls, const void *bytes, size_t length)
{
    size_t done = 0;
    while (done < length) {
        if (tls->filled == ZR_TLS_RECORD && zr_tls_flush(tls) != ZR_TLS_DONE &&
            tls->filled == ZR_TLS_RECORD)
            break;
        size_t room = ZR_TLS_RECORD - tls->filled;
        size_t part = length - done < room ? length - done : room;
        memcpy(tls->gathered + tls->filled, (const char *)bytes + done, part);
        tls->filled += part;
        done += part;
    }
    return tls->why->error != 0 ? -1 : (ssize_t)done;
}

bool zr_tls_unsent(const struct zr_tls *tls)
{
    return tls->filled > 0 || BIO_pending(tls->outward) > 0;
}

/* ---- The handshake ------------------------------------------------------------------------- */

enum zr_tls_step zr_tls_shake(struct zr_tls *tls)
{
    if (tls->why->error != 0)
        return ZR_TLS_FAILED;
    ERR_clear_error();
    errno = 0;
    int rc = SSL_do_handshake(tls->ssl);
    int error = errno;
    int kind = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, rc);
    if (rc != 1 && kind != SSL_ERROR_WANT_READ) {
        failed(tls, kind, error);
        push(tls); /* the reason, for the server's log */
        return ZR_TLS_FAILED;
    }
    if (push(tls) == ZR_TLS_FAILED)
        return ZR_TLS_FAILED;
    tls->up = rc == 1;
    return tls->up ? ZR_TLS_DONE : ZR_TLS_BLOCKED;
}

/* ---- Receiving ----------------------------------------------------------------------------- */

/* False: nothing more now, the end, or a failure. */
static bool read_some(struct zr_tls *tls, char *to, size_t length, size_t *got, bool *ended)
{
    ERR_clear_error();
    errno = 0;
    int rc = SSL_read_ex(tls->ssl, to, length, got);
    int error = errno;
    if (rc == 1)
        return true;
    int kind = SSL_get_error(tls->ssl, rc);
    *got = 0;
    *ended = kind == SSL_ERROR_ZERO_RETURN ||
             (kind == SSL_ERROR_SSL &&
              ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
    if (!*ended && kind != SSL_ERROR_WANT_READ)
        failed(tls, kind, error);
    return false;
}

ssize_t zr_tls_read(struct zr_tls *tls, void *to, size_t length)
{
    size_t done = 0, got = 0;
    bool ended = false;
    while (tls->why->error == 0 && done < length &&
           read_some(tls, (char *)to + done, length - done, &got, &ended))
        done += got;
    if (done > 0 || ended || length == 0)
        return (ssize_t)done;
    errno = tls->why->error != 0 ? tls->why->error : EAGAIN;
    return -1;
}

bool zr_tls_holds(const struct zr_tls *tls)
{
    return tls->why->error == 0 && SSL_pending(tls->ssl) > 0;
}

/* ---- The end ------------------------------------------------------------------------------- */

void zr_tls_close(struct zr_tls *tls)
{
    if (tls->up && tls->why->error == 0 && zr_tls_flush(tls) == ZR_TLS_DONE &&
        SSL_shutdown(tls->ssl) >= 0)
        push(tls);
    SSL_free(tls->ssl);
    SSL_CTX_free(tls->context);
    ERR_clear_error();
    OPENSSL_cleanse(tls->gathered, tls->filled);
    OPENSSL_free(tls);
}
