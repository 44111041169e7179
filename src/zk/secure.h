#ifndef ZR_SECURE_H
#define ZR_SECURE_H

/*
 * secure.h: the connection of a session with TLS, or SASL, or both. The client library knows
 * nothing of them: it is linked with --wrap=connect,--wrap=send,--wrap=recv, and what it calls ends
 * here.
 *
 * The library never holds the socket that leads to the server. When it connects, we keep its socket
 * and put another one, which is not connected, behind its descriptor. So neither plain text nor a
 * request without authentication can reach the server, whatever goes wrong: there is no way from
 * the library's descriptor to the network.
 *
 * A handle with neither has none of this: its pointer is null. All functions but new and free: the
 * I/O thread. None waits for the network; connecting reads the files of certificates.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "core/zk.h"
#include "zk/mailbox.h"

struct zr_secure;

/* Which server has not answered what, and what to do, in words. */
struct zr_silence {
    const char *server; /* null: unknown */
    const char *unanswered, *advice;
};

/* gives: what a handle needs for these, or null if memory is exhausted. borrows: tls, sasl. keeps:
   wake, which is woken when zr_secure_due has become true. zr_zk_tls_problem and
   zr_zk_sasl_problem have found none. */
struct zr_secure *zr_secure_new(const struct zr_tls_options *tls,
                                const struct zr_sasl_options *sasl, struct zr_mailbox *wake);

/* takes: secure, which may be null. Closes the socket. */
void zr_secure_free(struct zr_secure *secure);

/* Which name belongs to which address: as the resolver gives them. takes: names. */
void zr_secure_learn(struct zr_secure *secure, char *names);

/* ---- For the library, inside a call of ours ------------------------------------------------- */

/* Until the next call: the library's calls are for this one; null: they are for a plain socket.
   keeps: secure. */
void zr_secure_enter(struct zr_secure *secure);

/* As recv, for the library's descriptor; if a secure connection was entered, from that. */
ssize_t zr_secure_library_recv(int fd, void *to, size_t size, int flags);

/* ---- For the handle ------------------------------------------------------------------------- */

/* The socket that leads to the server; -1: there is none, or it is not to be polled now. */
int zr_secure_fd(const struct zr_secure *secure);

/* True while TLS or SASL is at work, from the connect on: the library must not be called. */
bool zr_secure_shaking(const struct zr_secure *secure);

/* After poll: goes on with that. True: done or failed, and the library must be called; with SASL it
   then sends its handshake, and zr_secure_shaking is true again. */
bool zr_secure_shake(struct zr_secure *secure);

/* True if zr_secure_shake has something to do, whatever poll says. */
bool zr_secure_due(const struct zr_secure *secure);

/* True if the server has answered since the last call. */
bool zr_secure_heard(struct zr_secure *secure);

/* The server is silent: names it, and says what of TLS or SASL it has not answered, if it is that.
   The strings are valid until the next connection. */
void zr_secure_silence(const struct zr_secure *secure, struct zr_silence *silence);

/* True if the connection can be used. */
bool zr_secure_up(const struct zr_secure *secure);

/* What to poll for. events: what the library wants to poll for. */
short zr_secure_events(const struct zr_secure *secure, short events);

/* Sends what is not sent yet, as far as possible. False: the connection has failed, and the library
   has to learn that by a recv. */
bool zr_secure_flush(struct zr_secure *secure);

/* Are there bytes that flush could not send? */
bool zr_secure_unsent(const struct zr_secure *secure);

/* Are there bytes that poll does not see? */
bool zr_secure_holds(const struct zr_secure *secure);

/* As recv. */
ssize_t zr_secure_recv(struct zr_secure *secure, void *to, size_t size);

/* Why the connection has failed, a line for the log; null: it has not, or the library says it. */
const char *zr_secure_failure(struct zr_secure *secure);

/* True if the server has refused our credentials for SASL. */
bool zr_secure_refused(const struct zr_secure *secure);

/* True if the server could be reached, so that TLS or SASL has succeeded or failed. */
bool zr_secure_tried(const struct zr_secure *secure);

/* If SASL is at work, it has failed: the library, which waits for its answer, has to learn that by
   a recv. */
void zr_secure_give_up(struct zr_secure *secure);

/* Closes the socket, if there is one. */
void zr_secure_drop(struct zr_secure *secure);

#endif
