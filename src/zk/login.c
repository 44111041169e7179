/*
 * 1. The library sends its handshake: one frame.
 * 2. The server answers it: one frame, which is kept. If the session is over, the library is told,
 *    and that is all.
 * 3. We send a SASL request with an empty token, and the server answers with its challenge.
 * 4. We send our response, and the server answers with the proof that it knows the password too.
 * 5. The library receives the answer to its handshake.
 *
 * What can go wrong: the server refuses our response (that is final), has no SASL, cannot prove
 * that it knows the password, or sends nonsense. Then the connection ends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/login.h"

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/alloc.h"
#include "core/sasl_options.h"
#include "sasl/digest_md5.h"

#define URI "zookeeper/zk-sasl-md5" /* every server of ZooKeeper has these names */

#define LENGTH 4  /* bytes that state the length of a frame */
#define HEADER 16 /* of an answer: xid, zxid, error */
#define ANSWER_36                                                                                  \
    36               /* bytes of the answer to a handshake; from newer servers, which have a flag  \
                      */
#define ANSWER_37 37 /* behind it */
#define OP_SASL 102
#define MOST 8192 /* bytes of a frame that a server sends here */

#define AUTH_FAILED (-115)
#define SASL_REQUIRED (-124)

enum state { GREETING, CHALLENGE, PROOF, DONE };

struct zr_login {
    struct zr_sasl_options options; /* ours */
    const struct zr_tls_table *table;
    struct zr_tls *carrier;
    struct zr_tls_failure *why;
    enum state state; /* what the server has to answer next */
    bool heard, over;
    unsigned char greeting[LENGTH]; /* how long the library's handshake is, of which ... */
    size_t greeted;                 /* ... so many bytes are sent, with these four */
    unsigned char held[LENGTH + ANSWER_37];
    size_t held_length, given;
    unsigned char frame[LENGTH + MOST];
    size_t got; /* of the frame */
    struct zr_digest digest;
};

/* ---- Making -------------------------------------------------------------------------------- */

struct zr_login *zr_login_new(const struct zr_sasl_options *options)
{
    struct zr_login *login = zr_alloc(sizeof *login);
    if (login == NULL || zr_sasl_options_copy(&login->options, options))
        return login;
    zr_login_free(login);
    return NULL;
}

void zr_login_free(struct zr_login *login)
{
    if (login == NULL)
        return;
    zr_sasl_options_fini(&login->options);
    zr_free(login);
}

void zr_login_begin(struct zr_login *login, const struct zr_tls_table *table,
                    struct zr_tls *carrier, struct zr_tls_failure *why)
{
    login->table = table;
    login->carrier = carrier;
    login->why = why;
    login->state = GREETING;
    login->heard = login->over = false;
    login->greeted = login->held_length = login->given = login->got = 0;
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

static enum zr_login_step fail(struct zr_login *login, const char *text)
{
    login->why->error = EPROTO;
    snprintf(login->why->text, sizeof login->why->text, "%s", text);
    return ZR_LOGIN_FAILED;
}

static enum zr_login_step refused(struct zr_login *login)
{
    login->why->error = EACCES;
    snprintf(login->why->text, sizeof login->why->text,
             "the server refused user '%.100s'; check sasl.user and sasl.password, and the section "
             "Server of the file of its java.security.auth.login.config",
             login->options.user);
    return ZR_LOGIN_REFUSED;
}

/* The server's answer has an error. */
static enum zr_login_step failed(struct zr_login *login, int32_t error)
{
    bool refuses = error == AUTH_FAILED || error == SASL_REQUIRED;
    if (refuses && login->state == PROOF)
        return refused(login);
    if (refuses)
        return fail(login,
                    "the server does not begin DIGEST-MD5; the section Server of the file of "
                    "its java.security.auth.login.config is for another mechanism");
    login->why->error = EPROTO;
    snprintf(login->why->text, sizeof login->why->text,
             "the server answered with the error %d; see its log", (int)error);
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

/* Sends a token, at most ZR_DIGEST_RESPONSE bytes. */
static enum zr_login_step ask(struct zr_login *login, const char *token, size_t length)
{
    unsigned char frame[LENGTH + 12 + ZR_DIGEST_RESPONSE];
    size_t size = LENGTH + 12 + length;
    put_number(frame, (uint32_t)(12 + length));
    put_number(frame + 4, (uint32_t)login->state); /* the xid */
    put_number(frame + 8, OP_SASL);
    put_number(frame + 12, (uint32_t)length);
    memcpy(frame + 16, token, length);
    ssize_t sent = login->table->write(login->carrier, frame, size);
    if (sent == (ssize_t)size && login->table->flush(login->carrier) != ZR_TLS_FAILED)
        return ZR_LOGIN_BLOCKED;
    return lost(login, -1, sent < 0 && login->why->error != 0 ? login->why->error : EPIPE);
}

/* Receives the rest of a frame. */
static enum zr_login_step receive(struct zr_login *login)
{
    for (;;) {
        uint32_t length = login->got < LENGTH ? 0 : number_at(login->frame);
        size_t size = LENGTH + (size_t)length;
        if (length > MOST)
            return fail(login, "it does not answer as a ZooKeeper server does");
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
    if (length != ANSWER_36 && length != ANSWER_37)
        return fail(login, "it does not answer as a ZooKeeper server does");
    login->held_length = LENGTH + length;
    memcpy(login->held, login->frame, login->held_length);
    login->over = (int32_t)number_at(login->frame + LENGTH + 4) <= 0; /* the timeout */
    login->state = login->over ? DONE : CHALLENGE;
    return login->over ? ZR_LOGIN_DONE : ask(login, "", 0);
}

static bool make_nonce(char nonce[ZR_DIGEST_NONCE])
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(nonce + i * 2, 3, "%02x", bytes[i]);
    return true;
}

static enum zr_login_step on_challenge(struct zr_login *login, const char *token, size_t length)
{
    struct zr_digest_account account = {URI, login->options.user, login->options.password};
    char nonce[ZR_DIGEST_NONCE];
    if (length == 0)
        return fail(login,
                    "the server offers no DIGEST-MD5; its java.security.auth.login.config has "
                    "to name a file with a section Server");
    if (!make_nonce(nonce))
        return fail(login, "the system has no random numbers yet");
    const char *problem = zr_digest_respond(&login->digest, &account, nonce, token, length);
    if (problem != NULL) {
        login->why->error = EPROTO;
        snprintf(login->why->text, sizeof login->why->text, "the server's challenge is invalid: %s",
                 problem);
        return ZR_LOGIN_FAILED;
    }
    login->state = PROOF;
    return ask(login, login->digest.response, login->digest.length);
}

static enum zr_login_step on_proof(struct zr_login *login, const char *token, size_t length)
{
    if (!zr_digest_proved(&login->digest, token, length))
        return fail(login,
                    "the server did not prove that it knows the password of sasl.user: it is "
                    "not one of yours, or it has allowSaslFailedClients=true and another "
                    "password");
    login->state = DONE;
    return ZR_LOGIN_DONE;
}

/* A frame is here that answers our request. */
static enum zr_login_step on_answer(struct zr_login *login, size_t length)
{
    const unsigned char *body = login->frame + LENGTH;
    if (length < HEADER || number_at(body) != (uint32_t)login->state)
        return fail(login, "it answers another request");
    int32_t error = (int32_t)number_at(body + HEADER - 4);
    if (error != 0)
        return failed(login, error);
    int32_t size = length >= HEADER + 4 ? (int32_t)number_at(body + HEADER) : -2;
    if (size < -1 || (size_t)(size < 0 ? 0 : size) != length - HEADER - 4)
        return fail(login, "it sent a malformed answer");
    const char *token = (const char *)body + HEADER + 4;
    size_t token_length = size < 0 ? 0 : (size_t)size;
    if (login->state == CHALLENGE)
        return on_challenge(login, token, token_length);
    return on_proof(login, token, token_length);
}

enum zr_login_step zr_login_go_on(struct zr_login *login)
{
    if (login->table->flush(login->carrier) == ZR_TLS_FAILED)
        return lost(login, -1, login->why->error);
    enum zr_login_step step = ZR_LOGIN_BLOCKED;
    while (step == ZR_LOGIN_BLOCKED) {
        step = receive(login);
        if (step != ZR_LOGIN_DONE)
            return step;
        size_t length = login->got - LENGTH;
        login->got = 0;
        login->heard = true;
        if (login->state == GREETING)
            step = on_greeting(login, length);
        else
            step = on_answer(login, length);
    }
    return step;
}

/* ---- For the connection -------------------------------------------------------------------- */

bool zr_login_heard(struct zr_login *login)
{
    bool heard = login->heard;
    login->heard = false;
    return heard;
}

bool zr_login_speaks(const struct zr_login *login)
{
    return login->state == CHALLENGE || login->state == PROOF;
}

bool zr_login_is_over(const struct zr_login *login)
{
    return login->over;
}

size_t zr_login_left(const struct zr_login *login)
{
    return login->state == DONE ? login->held_length - login->given : 0;
}

size_t zr_login_give(struct zr_login *login, void *to, size_t size)
{
    size_t left = zr_login_left(login), part = size < left ? size : left;
    memcpy(to, login->held + login->given, part);
    login->given += part;
    return part;
}
