#ifndef ZR_LOGIN_PARTS_H
#define ZR_LOGIN_PARTS_H

/* login_parts.h: what login.c and login_tokens.c share. No other file includes it. */

#include <stdint.h>

#include "sasl/digest_md5.h"
#include "zk/exchange.h"
#include "zk/login.h"

#define ZR_LOGIN_LENGTH 4   /* bytes that state the length of a frame */
#define ZR_LOGIN_ANSWER 37  /* bytes of the answer to a handshake; older servers: one less */
#define ZR_LOGIN_FRAME 8192 /* the most bytes of a frame that a server sends here */

/* What the server has to answer next. */
enum zr_login_state {
    ZR_LOGIN_GREETING,
    ZR_LOGIN_CHALLENGE, /* of DIGEST-MD5 */
    ZR_LOGIN_PROOF,
    ZR_LOGIN_TICKET, /* of GSSAPI */
    ZR_LOGIN_OPEN    /* nothing */
};

struct zr_login {
    struct zr_sasl_options options; /* ours */
    const struct zr_tls_table *table;
    struct zr_tls *carrier;
    struct zr_tls_failure *why;
    char host[256]; /* of the server */
    enum zr_login_state state;
    uint32_t xid; /* of our last request */
    bool heard, over;
    unsigned char greeting[ZR_LOGIN_LENGTH]; /* how long the library's handshake is, of which ... */
    size_t greeted;                          /* ... so many bytes are sent, with these four */
    unsigned char held[ZR_LOGIN_LENGTH + ZR_LOGIN_ANSWER];
    size_t held_length, given;
    unsigned char frame[ZR_LOGIN_LENGTH + ZR_LOGIN_FRAME];
    size_t got;             /* of the frame */
    unsigned char *request; /* that is not sent yet, or null */
    size_t request_length, sent;
    struct zr_digest digest;
    struct zr_exchange *exchange; /* of GSSAPI; null: not begun */
    struct zr_mailbox *wake;
    bool stepping, last; /* a step has begun; our last token is sent */
};

/* ---- In login.c ----------------------------------------------------------------------------- */

/* The attempt has failed: writes why. */
enum zr_login_step zr_login_fail(struct zr_login *login, const char *text);

/* Sends a token, which may be empty. borrows: token. */
enum zr_login_step zr_login_ask(struct zr_login *login, const void *token, size_t length);

/* ---- In login_tokens.c ---------------------------------------------------------------------- */

/* Sends the first token, or begins to make it. */
enum zr_login_step zr_login_first(struct zr_login *login);

/* The server's token is here; length 0: it has sent none. */
enum zr_login_step zr_login_token(struct zr_login *login, const char *token, size_t length);

/* The server has answered with an error. */
enum zr_login_step zr_login_error(struct zr_login *login, int32_t error);

/* The helper thread is done. */
enum zr_login_step zr_login_stepped(struct zr_login *login);

#endif
