/*
 * What the tokens say. A failure names what happened and what to do; the line before it names the
 * server.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "core/sasl_options.h"
#include "zk/login_parts.h"

#define URI "zookeeper/zk-sasl-md5" /* every server of ZooKeeper has these names */

#define AUTH_FAILED (-115)
#define SASL_REQUIRED (-124)

/* ---- Errors -------------------------------------------------------------------------------- */

static enum zr_login_step refused(struct zr_login *login)
{
    login->why->error = EACCES;
    snprintf(login->why->text, sizeof login->why->text,
             "the server refused user '%.100s'; check sasl.user and sasl.password, and the section "
             "Server of the file of its java.security.auth.login.config",
             login->options.user);
    return ZR_LOGIN_REFUSED;
}

enum zr_login_step zr_login_error(struct zr_login *login, int32_t error)
{
    bool refuses = error == AUTH_FAILED || error == SASL_REQUIRED;
    if (refuses && login->state == ZR_LOGIN_PROOF)
        return refused(login);
    if (refuses && login->state == ZR_LOGIN_TICKET)
        return zr_login_fail(
            login, "the server refused our ticket, or is not for GSSAPI; its log says why");
    if (refuses)
        return zr_login_fail(
            login, "the server does not begin DIGEST-MD5; the section Server of the file of "
                   "its java.security.auth.login.config is for another mechanism");
    login->why->error = EPROTO;
    snprintf(login->why->text, sizeof login->why->text,
             "the server answered with the error %d; see its log", (int)error);
    return ZR_LOGIN_FAILED;
}

/* ---- GSSAPI -------------------------------------------------------------------------------- */

/* With the server's token, or with none. */
static enum zr_login_step begin_step(struct zr_login *login, const char *token, size_t length)
{
    if (login->exchange == NULL)
        login->exchange = zr_exchange_new(&login->options, login->host, login->wake);
    if (login->exchange == NULL || !zr_exchange_step(login->exchange, token, length))
        return zr_login_fail(
            login, "no helper thread for Kerberos: memory is exhausted, or a KDC does not answer");
    login->stepping = true;
    return ZR_LOGIN_BLOCKED;
}

enum zr_login_step zr_login_stepped(struct zr_login *login)
{
    const struct zr_kerberos_answer *answer = zr_exchange_answer(login->exchange);
    login->stepping = false;
    login->heard = true; /* it was not the server that we have waited for */
    login->last = answer->last;
    if (answer->problem[0] != '\0' && answer->refused) {
        login->why->error = EACCES;
        snprintf(login->why->text, sizeof login->why->text, "%s", answer->problem);
        return ZR_LOGIN_REFUSED;
    }
    if (answer->problem[0] != '\0')
        return zr_login_fail(login, answer->problem);
    return zr_login_ask(login, answer->token, answer->length);
}

static enum zr_login_step on_ticket(struct zr_login *login, const char *token, size_t length)
{
    if (!login->last && length > 0)
        return begin_step(login, token, length);
    if (!login->last)
        return zr_login_fail(login,
                             "the server offers no GSSAPI; its java.security.auth.login.config has "
                             "to name a file with a section Server");
    if (length > 0)
        return zr_login_fail(login, "it goes on after the end");
    login->state = ZR_LOGIN_OPEN;
    return ZR_LOGIN_DONE;
}

/* ---- DIGEST-MD5 ---------------------------------------------------------------------------- */

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
        return zr_login_fail(
            login, "the server offers no DIGEST-MD5; its java.security.auth.login.config has "
                   "to name a file with a section Server");
    if (!make_nonce(nonce))
        return zr_login_fail(login, "the system has no random numbers yet");
    const char *problem = zr_digest_respond(&login->digest, &account, nonce, token, length);
    if (problem != NULL) {
        login->why->error = EPROTO;
        snprintf(login->why->text, sizeof login->why->text, "the server's challenge is invalid: %s",
                 problem);
        return ZR_LOGIN_FAILED;
    }
    login->state = ZR_LOGIN_PROOF;
    return zr_login_ask(login, login->digest.response, login->digest.length);
}

static enum zr_login_step on_proof(struct zr_login *login, const char *token, size_t length)
{
    if (!zr_digest_proved(&login->digest, token, length))
        return zr_login_fail(
            login, "the server did not prove that it knows the password of sasl.user: it is "
                   "not one of yours, or it has allowSaslFailedClients=true and another "
                   "password");
    explicit_bzero(&login->digest, sizeof login->digest);
    login->state = ZR_LOGIN_OPEN;
    return ZR_LOGIN_DONE;
}

/* ---- Both ---------------------------------------------------------------------------------- */

enum zr_login_step zr_login_first(struct zr_login *login)
{
    bool kerberos = zr_sasl_is_kerberos(&login->options);
    login->state = kerberos ? ZR_LOGIN_TICKET : ZR_LOGIN_CHALLENGE;
    return kerberos ? begin_step(login, NULL, 0) : zr_login_ask(login, NULL, 0);
}

enum zr_login_step zr_login_token(struct zr_login *login, const char *token, size_t length)
{
    if (login->state == ZR_LOGIN_TICKET)
        return on_ticket(login, token, length);
    return login->state == ZR_LOGIN_CHALLENGE ? on_challenge(login, token, length)
                                              : on_proof(login, token, length);
}
