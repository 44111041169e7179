#ifndef ZR_TLS_H
#define ZR_TLS_H

/*
 * tls.h: TLS on a socket, as one table of functions. tls.so offers it and src/zk uses it. OpenSSL
 * is in that shared object and not in the module, so that only those need it who ask for TLS.
 *
 * No function waits for the network; open reads files. All are called by one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The table's layout: the module and tls.so must be of the same build. */
#define ZR_TLS_LAYOUT 1
#define ZR_TLS_SYMBOL "zr_tls_table"

/* What a connection needs. Each file is PEM. */
struct zr_tls_files {
    const char *ca;       /* the CAs that are trusted; null: the system's */
    const char *cert;     /* ours, with the chain behind it; null: none */
    const char *key;      /* of cert; null: it is in the same file */
    const char *password; /* of key; null: none */
    bool any_server;      /* trust every server: verify nothing */
};

/* Why a connection has failed. */
struct zr_tls_failure {
    int error;      /* for errno; 0: it has not failed */
    char text[480]; /* what happened and what to do; "": `error` says all */
};

enum zr_tls_step { ZR_TLS_DONE, ZR_TLS_BLOCKED, ZR_TLS_FAILED };

struct zr_tls; /* one connection */

struct zr_tls_table {
    int layout; /* ZR_TLS_LAYOUT */

    /*
     * gives: TLS as a client on this socket, which is connected and does not block; or null, and
     * `why` is set. The server has to prove `name`, a host name or an address, which is also
     * announced to it if it is a host name. borrows: files, name. keeps: fd and why, until close;
     * every later failure is written there, and after it every function fails.
     */
    struct zr_tls *(*open)(const struct zr_tls_files *files, int fd, const char *name,
                           struct zr_tls_failure *why);

    /* Goes on with the handshake, as far as it gets. */
    enum zr_tls_step (*shake)(struct zr_tls *tls);

    /* After the handshake. Takes bytes to send and gives how many; 0: the socket takes no more now;
       -1: failed. What it takes leaves with the next flush, or earlier. */
    ssize_t (*write)(struct zr_tls *tls, const void *bytes, size_t length);

    /* Sends what is not sent yet. ZR_TLS_BLOCKED: some is left; wait for POLLOUT. */
    enum zr_tls_step (*flush)(struct zr_tls *tls);

    /* As recv: gives as many bytes as are wanted, or all that have arrived; 0: the end; -1: EAGAIN,
       or failed. */
    ssize_t (*read)(struct zr_tls *tls, void *to, size_t length);

    /* True if bytes are left that were received and decrypted but not read: poll does not see
       them. */
    bool (*holds)(const struct zr_tls *tls);

    /* Is there anything that flush would send? */
    bool (*unsent)(const struct zr_tls *tls);

    /* Tells the server, if that is possible at once. takes: tls. The socket stays open. */
    void (*close)(struct zr_tls *tls);
};

#endif
