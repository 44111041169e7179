#ifndef ZR_LOGIN_H
#define ZR_LOGIN_H

/*
 * login.h: SASL on a connection to a server, between the client library and what carries its bytes.
 * The library's handshake passes; the server's answer to it is kept back until server and client
 * have proved to each other who they are. So the library, which sends nothing before that answer,
 * knows nothing of SASL. The I/O thread. No function waits.
 */

#include <stdbool.h>
#include <stddef.h>

#include "core/zk.h"
#include "tls/tls.h"
#include "zk/mailbox.h"

enum zr_login_step {
    ZR_LOGIN_DONE,
    ZR_LOGIN_BLOCKED,
    ZR_LOGIN_FAILED, /* another attempt, or another server, may succeed */
    ZR_LOGIN_REFUSED /* the server refused the credentials */
};

struct zr_login;

/* gives: the SASL of a handle, or null if memory is exhausted. borrows: options. keeps: wake, which
   is woken when zr_login_due has become true. */
struct zr_login *zr_login_new(const struct zr_sasl_options *options, struct zr_mailbox *wake);

/* takes: login, which may be null. */
void zr_login_free(struct zr_login *login);

/* A connection begins: table and carrier are what carries its bytes. keeps: all but host, until the
   end. When the connection fails, the reason is written to `why`, with a text. */
void zr_login_begin(struct zr_login *login, const struct zr_tls_table *table,
                    struct zr_tls *carrier, const char *host, struct zr_tls_failure *why);

/* The connection has ended, or there is none. */
void zr_login_end(struct zr_login *login);

/* How many of these bytes the library may send: those of its handshake, and nothing behind it. */
size_t zr_login_allows(struct zr_login *login, const void *bytes, size_t size);

/* True if all of the handshake was allowed. */
bool zr_login_greeted(const struct zr_login *login);

/* Goes on as far as it gets. */
enum zr_login_step zr_login_go_on(struct zr_login *login);

/* True while a helper thread is at work: go_on does nothing. */
bool zr_login_busy(const struct zr_login *login);

/* True if the helper thread is done: go_on has to be called. */
bool zr_login_due(const struct zr_login *login);

/* True if the rest of a request waits until the socket takes it. */
bool zr_login_unsent(const struct zr_login *login);

/* True if an answer has come since the last call. */
bool zr_login_heard(struct zr_login *login);

/* What is missing while SASL is spoken, for the end of a sentence on a server that is silent; null:
   SASL is not spoken, but the library's handshake is not answered. */
const char *zr_login_awaited(const struct zr_login *login);

/* True if the session is over. Then login is done, and nothing may be sent. */
bool zr_login_is_over(const struct zr_login *login);

/* gives: how many bytes of the server's answer to the handshake the library has not received. */
size_t zr_login_left(const struct zr_login *login);

/* gives: the next of them, as many as there are and are wanted. */
size_t zr_login_give(struct zr_login *login, void *to, size_t size);

#endif
