#ifndef ZR_TLS_PARTS_H
#define ZR_TLS_PARTS_H

/* parts.h: what the files of tls.so share. They are the only ones that see OpenSSL. */

#include <openssl/ssl.h>

#include "tls/tls.h"

#define ZR_TLS_RECORD 16384 /* the most that one record holds */

struct zr_tls {
    SSL_CTX *context;
    SSL *ssl;
    BIO *outward; /* what OpenSSL wants to send; belongs to ssl */
    int fd;
    bool up;       /* the handshake is done */
    bool asked;    /* we have none, and the server has asked for one */
    size_t sent;   /* of what `outward` holds */
    size_t filled; /* of `gathered` */
    struct zr_tls_failure *why;
    char names[200]; /* of the server's certificate, if it does not have that: */
    char name[256];  /* that the server has to prove */
    unsigned char gathered[ZR_TLS_RECORD]; /* written, not encrypted yet */
};

/* gives: a context with these certificates, or null, and why. borrows: files. Reads the files. */
SSL_CTX *zr_tls_context(const struct zr_tls_files *files, struct zr_tls_failure *why);

/* OpenSSL's callback for each certificate of the server: keeps what zr_tls_explain needs. */
int zr_tls_on_verified(int valid, X509_STORE_CTX *verified);

/* Says why a call of OpenSSL has failed. kind: of SSL_get_error; error: errno then. Clears
   OpenSSL's list of errors. */
void zr_tls_explain(struct zr_tls *tls, int kind, int error);

/* The functions of the table; module.c guards them. */
struct zr_tls *zr_tls_open(const struct zr_tls_files *files, int fd, const char *name,
                           struct zr_tls_failure *why);
enum zr_tls_step zr_tls_shake(struct zr_tls *tls);
ssize_t zr_tls_write(struct zr_tls *tls, const void *bytes, size_t length);
enum zr_tls_step zr_tls_flush(struct zr_tls *tls);
ssize_t zr_tls_read(struct zr_tls *tls, void *to, size_t length);
bool zr_tls_holds(const struct zr_tls *tls);
bool zr_tls_unsent(const struct zr_tls *tls);
void zr_tls_close(struct zr_tls *tls);

#endif
