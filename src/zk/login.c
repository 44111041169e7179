/*
 * 1. The library sends its handshake: one frame.
 * 2. The server answers it: one frame, which is kept. If the session is over, the library is told,
 *    and that is all.
 * 3. DIGEST-MD5: we send a SASL request with an empty token, and the server answers with its
 *    challenge. We send our response, and the server answers with the proof that it knows the
 *    password too.
 *    GSSAPI: a helper thread makes our tokens (exchange.c) until one is the last, to which the
 *    server answers with none.
 * 4. The library receives the answer to its handshake.
 *
 * What can go wrong: the server refuses the password (that is final) or the ticket, has no SASL,
 * cannot prove who it is, or sends nonsense. Then the connection ends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/sasl_options.h"
#include "zk/login_parts.h"

#define LENGTH ZR_LOGIN_LENGTH
#define HEADER 16 /* of an answer: xid, zxid, error */
#define OP_SASL 102

/* ---- Making -------------------------------------------------------------------------------- */

struct zr_login *zr_login_new(const struct zr_sasl_options *options, struct zr_mailbox *wake)
{
    struct zr_login *login = zr_alloc(sizeof *login);
    if (login == NULL)
        return NULL;
    login->wake = wake;
    if (zr_sasl_options_copy(&login->options, options))
        return login;
    zr_login_free(login);
    return NULL;
}

void zr_login_free(struct zr_login *login)
{
    if (login == NULL)
        return;
    zr_login_end(login);
    zr_sasl_options_fini(&login->options);
    zr_free(login);
}

/* By a response that somebody has found, passwords can be guessed. */
static void forget_request(struct zr_login *login)
{
    if (login->request != NULL)
        explicit_bzero(login->request, login->request_length);
    zr_free(login->request);
    login->request = NULL;
}

void zr_login_end(struct zr_login *login)
{
    zr_exchange_free(login->exchange);
    forget_request(login);
    explicit_bzero(&login->digest, sizeof login->digest);
    login->exchange = NULL;
    login->stepping = login->last = false;
}

void zr_login_begin(struct zr_login *login, const struct zr_tls_table *table,
                    struct zr_tls *carrier, const char *host, struct zr_tls_failure *why)
{
    zr_login_end(login);
    snprintf(login->host, sizeof login->host, "%s", host);
    login->table = table;
    login->carrier = carrier;
    login->why = why;
    login->state = ZR_LOGIN_GREETING;
    login->heard = login->over = false;
    login->greeted = login->held_length = login->given = login->got = 0;
    login->xid = 0;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

static uint32_t number_at(const unsigned char *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return be32toh(number);
}

static void put_number(unsigned char *at, uint32_t number)
{
    number = htobe32(number);
    memcpy(at, &number, sizeof number);
}

/* ---- The library's handshake --------------------------------------------------------------- */

static size_t greeting_length(const struct zr_login *login)
{
    return login->greeted < LENGTH ? SIZE_MAX : LENGTH + (size_t)number_at(login->greeting);
}

size_t zr_login_allows(struct zr_login *login, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    size_t allowed = 0;
    for (; allowed < size && login->greeted < greeting_length(login); allowed++) {
        if (login->greeted < LENGTH)
            login->greeting[login->greeted] = from[allowed];
        login->greeted++;
    }
    return allowed;
}

bool zr_login_greeted(const struct zr_login *login)
{
    return login->greeted >= greeting_length(login);
}

/* ---- Failures ------------------------------------------------------------------------------ */

enum zr_login_step zr_login_fail(struct zr_login *login, const char *text)
{
    login->why->error = EPROTO;
    snprintf(login->why->text, sizeof login->why->text, "%s", text);
    return ZR_LOGIN_FAILED;
}

static enum zr_login_step lost(struct zr_login *login, ssize_t got, int error)
{
    if (login->why->text[0] != '\0')
        return ZR_LOGIN_FAILED;
    login->why->error = got == 0 ? EPIPE : error;
    snprintf(login->why->text, sizeof login->why->text, "it broke the connection off%s%s",
             got == 0 ? "" : ": ", got == 0 ? "" : strerror(error));
    return ZR_LOGIN_FAILED;
}

/* ---- Frames -------------------------------------------------------------------------------- */

static enum zr_login_step send_rest(struct zr_login *login)
{
    while (login->request != NULL) {
        ssize_t taken = login->table->write(login->carrier, login->request + login->sent,
                                            login->request_length - login->sent);
        if (taken < 0)
            return lost(login, -1, login->why->error);
        if (taken == 0)
            return ZR_LOGIN_BLOCKED;
        login->sent += (size_t)taken;
        if (login->sent == login->request_length)
            forget_request(login);
    }
    if (login->table->flush(login->carrier) == ZR_TLS_FAILED)
        return lost(login, -1, login->why->error);
    return ZR_LOGIN_BLOCKED;
}

enum zr_login_step zr_login_ask(struct zr_login *login, const void *token, size_t length)
{
    login->sent = 0;
    login->request_length = LENGTH + 12 + length;
    login->request = zr_alloc(login->request_length);
    if (login->request == NULL)
        return zr_login_fail(login, "memory is exhausted");
    put_number(login->request, (uint32_t)(12 + length));
    put_number(login->request + 4, ++login->xid);
    put_number(login->request + 8, OP_SASL);
    put_number(login->request + 12, (uint32_t)length);
    if (length > 0)
        memcpy(login->request + 16, token, length);
    return send_rest(login);
}

/* Receives the rest of a frame. */
static enum zr_login_step receive(struct zr_login *login)
{
    for (;;) {
        uint32_t length = login->got < LENGTH ? 0 : number_at(login->frame);
        size_t size = LENGTH + (size_t)length;
        if (length > ZR_LOGIN_FRAME)
            return zr_login_fail(login, "it does not answer as a ZooKeeper server does");
        if (login->got >= LENGTH && login->got == size)
            return ZR_LOGIN_DONE;
        ssize_t got =
            login->table->read(login->carrier, login->frame + login->got, size - login->got);
        if (got < 0 && errno == EAGAIN)
            return ZR_LOGIN_BLOCKED;
        if (got <= 0)
            return lost(login, got, errno);
        login->got += (size_t)got;
    }
}

/* ---- The exchange -------------------------------------------------------------------------- */

static enum zr_login_step on_greeting(struct zr_login *login, size_t length)
{
    if (length != ZR_LOGIN_ANSWER && length != ZR_LOGIN_ANSWER - 1)
        return zr_login_fail(login, "it does not answer as a ZooKeeper server does");
    login->held_length = LENGTH + length;
    memcpy(login->held, login->frame, login->held_length);
    login->over = (int32_t)number_at(login->frame + LENGTH + 4) <= 0; /* the timeout */
    if (!login->over)
        return zr_login_first(login);
    login->state = ZR_LOGIN_OPEN;
    return ZR_LOGIN_DONE;
}

/* A frame is here that answers our request. */
static enum zr_login_step on_answer(struct zr_login *login, size_t length)
{
    const unsigned char *body = login->frame + LENGTH;
    bool asked = login->request == NULL; /* all of it was sent */
    if (length < HEADER || number_at(body) != login->xid || !asked)
        return zr_login_fail(login, "it answers another request");
    int32_t error = (int32_t)number_at(body + HEADER - 4);
    if (error != 0)
        return zr_login_error(login, error);
    int32_t size = length >= HEADER + 4 ? (int32_t)number_at(body + HEADER) : -2;
    if (size < -1 || (size_t)(size < 0 ? 0 : size) != length - HEADER - 4)
        return zr_login_fail(login, "it sent a malformed answer");
    const char *token = (const char *)body + HEADER + 4;
    size_t token_length = size < 0 ? 0 : (size_t)size;
    return zr_login_token(login, token, token_length);
}

static enum zr_login_step take_frame(struct zr_login *login)
{
    enum zr_login_step step = receive(login);
    if (step != ZR_LOGIN_DONE)
        return step;
    size_t length = login->got - LENGTH;
    login->got = 0;
    login->heard = true;
    step =
        login->state == ZR_LOGIN_GREETING ? on_greeting(login, length) : on_answer(login, length);
    return step == ZR_LOGIN_BLOCKED && !login->stepping ? take_frame(login) : step;
}

enum zr_login_step zr_login_go_on(struct zr_login *login)
{
    if (zr_login_busy(login))
        return ZR_LOGIN_BLOCKED;
    enum zr_login_step step = login->stepping ? zr_login_stepped(login) : send_rest(login);
    return step == ZR_LOGIN_BLOCKED ? take_frame(login) : step;
}

/* ---- For the connection -------------------------------------------------------------------- */

bool zr_login_heard(struct zr_login *login)
{
    bool heard = login->heard;
    login->heard = false;
    return heard;
}

const char *zr_login_awaited(const struct zr_login *login)
{
    if (login->state == ZR_LOGIN_CHALLENGE)
        return "it sent no challenge; see its log";
    if (login->state == ZR_LOGIN_PROOF)
        return "it did not say whether it accepts the password; see its log";
    if (login->state == ZR_LOGIN_TICKET)
        return "it did not say whether it accepts our ticket; see its log";
    return NULL;
}

bool zr_login_busy(const struct zr_login *login)
{
    return login->stepping && zr_exchange_busy(login->exchange);
}

bool zr_login_due(const struct zr_login *login)
{
    return login->stepping && !zr_exchange_busy(login->exchange);
}

bool zr_login_unsent(const struct zr_login *login)
{
    return login->request != NULL;
}

bool zr_login_is_over(const struct zr_login *login)
{
    return login->over;
}

size_t zr_login_left(const struct zr_login *login)
{
    return login->state == ZR_LOGIN_OPEN ? login->held_length - login->given : 0;
}

size_t zr_login_give(struct zr_login *login, void *to, size_t size)
{
    size_t left = zr_login_left(login), part = size < left ? size : left;
    memcpy(to, login->held + login->given, part);
    login->given += part;
    return part;
}
