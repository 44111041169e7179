/*
 * 1. We get a ticket for the service, and send it.
 * 2. The server proves that it could read the ticket, so it has the key of the service. We send an
 *    empty token.
 * 3. The server offers security layers, signed. We choose none, signed.
 * 4. The server says no more.
 *
 * What can go wrong: there is no ticket; the KDC does not know the service, or does not answer; the
 * clocks differ. Kerberos says it in a sentence.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5/krb5.h>

#include "kerberos/exchange.h"

#define NO_LAYER 1 /* in the server's offer, and in our choice */

struct zr_kerberos {
    char *service, *user, *keytab; /* user, keytab: or null */
    gss_name_t server;
    gss_cred_id_t credential;
    gss_ctx_id_t context;
    gss_buffer_desc token; /* ours */
    enum { GET_READY, AUTHENTICATE, CHOOSE, CHOSEN } next;
};

/* ---- Failures ------------------------------------------------------------------------------ */

/* Appends the sentence of a status. */
static void describe(char *room, size_t size, OM_uint32 status, int type)
{
    OM_uint32 minor, more = 0;
    gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
    size_t length = strlen(room);
    if (gss_display_status(&minor, status, type, GSS_C_NO_OID, &more, &text) != GSS_S_COMPLETE)
        return;
    snprintf(room + length, size - length, "%s%.*s", length > 0 ? ": " : "", (int)text.length,
             (const char *)text.value);
    gss_release_buffer(&minor, &text);
}

/* The KDC refused the key, or knows no such user. */
static bool is_refused(OM_uint32 minor)
{
    static const krb5_error_code codes[] = {KRB5KDC_ERR_PREAUTH_FAILED, KRB5KDC_ERR_CLIENT_REVOKED,
                                            KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN, KRB5KDC_ERR_KEY_EXP};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (minor == (OM_uint32)codes[i])
            return true;
    return false;
}

/* what: what we tried. */
static void fail(struct zr_kerberos_answer *answer, const char *what, OM_uint32 major,
                 OM_uint32 minor)
{
    snprintf(answer->problem, sizeof answer->problem, "%s", what);
    answer->refused = GSS_ERROR(major) && is_refused(minor);
    if (GSS_ERROR(major))
        describe(answer->problem, sizeof answer->problem, minor != 0 ? minor : major,
                 minor != 0 ? GSS_C_MECH_CODE : GSS_C_GSS_CODE);
}

/* ---- Making -------------------------------------------------------------------------------- */

static char *copy(const char *text)
{
    return text != NULL ? strdup(text) : NULL;
}

struct zr_kerberos *zr_kerberos_open(const char *service, const char *user, const char *keytab)
{
    struct zr_kerberos *exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL)
        return NULL;
    exchange->service = copy(service);
    exchange->user = copy(user);
    exchange->keytab = copy(keytab);
    if (exchange->service != NULL && !exchange->user == !user && !exchange->keytab == !keytab)
        return exchange;
    zr_kerberos_close(exchange);
    return NULL;
}

void zr_kerberos_close(struct zr_kerberos *exchange)
{
    OM_uint32 minor;
    if (exchange == NULL)
        return;
    gss_release_buffer(&minor, &exchange->token);
    gss_delete_sec_context(&minor, &exchange->context, GSS_C_NO_BUFFER);
    gss_release_cred(&minor, &exchange->credential);
    gss_release_name(&minor, &exchange->server);
    free(exchange->service);
    free(exchange->user);
    free(exchange->keytab);
    free(exchange);
}

/* ---- Names and credentials ----------------------------------------------------------------- */

static bool import(const char *text, gss_OID type, gss_name_t *name,
                   struct zr_kerberos_answer *answer)
{
    OM_uint32 minor;
    gss_buffer_desc buffer = {strlen(text), (void *)text};
    OM_uint32 major = gss_import_name(&minor, &buffer, type, name);
    if (GSS_ERROR(major))
        fail(answer, "a name is invalid", major, minor);
    return !GSS_ERROR(major);
}

/* A cache in memory that all sessions with the same key share: so a reconnect asks no KDC while its
   tickets are valid. Kerberos renews them by the key. The name has what changes if the file does:
   another key must not get the tickets of the one before. */
static void name_cache(const struct zr_kerberos *exchange, char *cache, size_t size)
{
    struct stat file = {0};
    stat(exchange->keytab, &file);
    snprintf(cache, size, "MEMORY:zkrecipes %llu %llu %lld %lld.%09ld %s",
             (unsigned long long)file.st_dev, (unsigned long long)file.st_ino,
             (long long)file.st_size, (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec,
             exchange->user != NULL ? exchange->user : "");
}

static OM_uint32 acquire(struct zr_kerberos *exchange, gss_name_t name, OM_uint32 *minor)
{
    char cache[512], *keytab = NULL; /* a user has 255 bytes at most */
    gss_OID_set_desc mechanisms = {1, (gss_OID)gss_mech_krb5};
    if (exchange->keytab != NULL && asprintf(&keytab, "FILE:%s", exchange->keytab) < 0) {
        *minor = ENOMEM;
        return GSS_S_FAILURE;
    }
    if (keytab != NULL)
        name_cache(exchange, cache, sizeof cache);
    gss_key_value_element_desc elements[] = {{"client_keytab", keytab}, {"ccache", cache}};
    gss_key_value_set_desc store = {2, elements};
    OM_uint32 major = gss_acquire_cred_from(
        minor, name, GSS_C_INDEFINITE, &mechanisms, GSS_C_INITIATE,
        keytab != NULL ? &store : GSS_C_NO_CRED_STORE, &exchange->credential, NULL, NULL);
    free(keytab);
    return major;
}

static bool get_ready(struct zr_kerberos *exchange, struct zr_kerberos_answer *answer)
{
    OM_uint32 minor = 0, ignored;
    gss_name_t name = GSS_C_NO_NAME;
    if (!import(exchange->service, GSS_C_NT_HOSTBASED_SERVICE, &exchange->server, answer))
        return false;
    if (exchange->user != NULL && !import(exchange->user, GSS_C_NT_USER_NAME, &name, answer))
        return false;
    OM_uint32 major = acquire(exchange, name, &minor);
    gss_release_name(&ignored, &name);
    if (!GSS_ERROR(major))
        return true;
    char what[360] = "no ticket of Kerberos; run kinit, or set sasl.keytab";
    if (exchange->keytab != NULL && access(exchange->keytab, R_OK) != 0)
        snprintf(what, sizeof what, "cannot read the file of sasl.keytab, %.200s",
                 exchange->keytab);
    else if (exchange->keytab != NULL)
        snprintf(what, sizeof what, "no ticket of Kerberos by the key in %.200s for %.60s",
                 exchange->keytab, exchange->user != NULL ? exchange->user : "its first user");
    fail(answer, what, major, minor);
    return false;
}

/* ---- The exchange -------------------------------------------------------------------------- */

static void authenticate(struct zr_kerberos *exchange, gss_buffer_t from,
                         struct zr_kerberos_answer *answer)
{
    static const OM_uint32 wanted = GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG;
    OM_uint32 minor = 0, got = 0;
    OM_uint32 major = gss_init_sec_context(
        &minor, exchange->credential, &exchange->context, exchange->server, (gss_OID)gss_mech_krb5,
        wanted, 0, GSS_C_NO_CHANNEL_BINDINGS, from, NULL, &exchange->token, &got, NULL);
    char what[160];
    snprintf(what, sizeof what, "Kerberos cannot authenticate us to %.100s", exchange->service);
    if (GSS_ERROR(major))
        fail(answer, what, major, minor);
    else if (major == GSS_S_COMPLETE && (got & wanted) != wanted)
        fail(answer, "the server did not prove who it is", 0, 0);
    else if (major == GSS_S_COMPLETE)
        exchange->next = CHOOSE;
}

static void choose(struct zr_kerberos *exchange, gss_buffer_t from,
                   struct zr_kerberos_answer *answer)
{
    unsigned char choice[4] = {NO_LAYER, 0, 0, 0};
    OM_uint32 minor = 0, ignored;
    gss_buffer_desc offer = GSS_C_EMPTY_BUFFER, to = {sizeof choice, choice};
    OM_uint32 major = gss_unwrap(&minor, exchange->context, from, &offer, NULL, NULL);
    bool offered = major == GSS_S_COMPLETE && offer.length == 4 &&
                   (((const unsigned char *)offer.value)[0] & NO_LAYER) != 0;
    gss_release_buffer(&ignored, &offer);
    if (major != GSS_S_COMPLETE) {
        fail(answer, "the server's offer is invalid", major, minor);
        return;
    }
    if (!offered) {
        fail(answer, "the server demands a security layer; set its qop to auth", 0, 0);
        return;
    }
    major = gss_wrap(&minor, exchange->context, 0, GSS_C_QOP_DEFAULT, &to, NULL, &exchange->token);
    if (GSS_ERROR(major))
        fail(answer, "cannot sign", major, minor);
    exchange->next = CHOSEN;
    answer->last = true;
}

void zr_kerberos_step(struct zr_kerberos *exchange, const void *token, size_t length,
                      struct zr_kerberos_answer *answer)
{
    OM_uint32 ignored;
    gss_buffer_desc from = {length, (void *)token};
    *answer = (struct zr_kerberos_answer){.token = NULL};
    gss_release_buffer(&ignored, &exchange->token);
    if (exchange->next == GET_READY) {
        if (!get_ready(exchange, answer))
            return;
        exchange->next = AUTHENTICATE;
        authenticate(exchange, GSS_C_NO_BUFFER, answer);
    } else if (exchange->next == AUTHENTICATE) {
        authenticate(exchange, &from, answer);
    } else if (exchange->next == CHOOSE) {
        choose(exchange, &from, answer);
    } else {
        fail(answer, "the server goes on after the end", 0, 0);
    }
    answer->token = exchange->token.value;
    answer->length = exchange->token.length;
}
