#ifndef ZR_SECURE_PARTS_H
#define ZR_SECURE_PARTS_H

/* secure_parts.h: what secure.c and secure_connect.c share. No other file includes it. */

#include "tls/tls.h"
#include "zk/login.h"
#include "zk/secure.h"

enum zr_secure_state {
    ZR_SECURE_NONE,
    ZR_SECURE_CONNECTING,
    ZR_SECURE_SHAKING,  /* the handshake of TLS */
    ZR_SECURE_GREETING, /* with SASL: the library may send its handshake, and nothing else */
    ZR_SECURE_LOGIN,    /* with SASL: until the server knows who we are */
    ZR_SECURE_UP,
    ZR_SECURE_OVER, /* with SASL: the session is over; the library may only receive that */
    ZR_SECURE_FAILED
};

struct zr_secure {
    const struct zr_tls_table *table; /* of TLS, or of plain text */
    struct zr_tls_options options;    /* ours */
    struct zr_login *login;           /* null: without SASL */
    char *names;                      /* pairs of address and name, each ends with a NUL; or null */
    enum zr_secure_state state;
    bool unreached;    /* failed: the server was not reached */
    bool login_failed; /* failed: it was SASL ... */
    bool refused;      /* ... and the server refused the credentials */
    bool heard;        /* the handshake of TLS was answered */
    int fd;            /* the socket, or -1 */
    int library_fd;    /* what the library takes for it */
    struct zr_tls *tls;
    struct zr_tls_failure failure;
    char name[256];   /* that the server has to prove */
    char server[360]; /* the server, for messages */
    char line[900];   /* of zr_secure_failure */
};

/* The library's connect. It never succeeds at once: the library would send its handshake before
   ours. */
int zr_secure_connect(struct zr_secure *secure, int fd, const struct sockaddr *address,
                      socklen_t length);

/* For a session without TLS: sends and receives as they are. Static. */
extern const struct zr_tls_table zr_secure_plain;

#endif
