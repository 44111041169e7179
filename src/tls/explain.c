/*
 * What OpenSSL says, in sentences: what happened and what to do. The reader is whoever runs the
 * program; the line before the text names the server.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include "tls/parts.h"

#define ALERT(number) (SSL_AD_REASON_OFFSET + (number))

/* ---- The server's certificate -------------------------------------------------------------- */

/* A name of DNS or an address as text; "": it is neither. Whoever has made the certificate may have
   put anything into a name. */
static void show(char *text, size_t size, const GENERAL_NAME *name)
{
    int type;
    const ASN1_STRING *value = GENERAL_NAME_get0_value(name, &type);
    bool dns = type == GEN_DNS, address = type == GEN_IPADD;
    const unsigned char *at = dns || address ? ASN1_STRING_get0_data(value) : NULL;
    size_t length = dns || address ? (size_t)ASN1_STRING_length(value) : 0;
    text[0] = '\0';
    if (address && (length == 4 || length == 16))
        inet_ntop(length == 4 ? AF_INET : AF_INET6, at, text, (socklen_t)size);
    if (!dns)
        return;
    length = length < size ? length : size - 1;
    for (size_t i = 0; i < length; i++)
        text[i] = at[i] > ' ' && at[i] < 0x7f ? (char)at[i] : '?';
    text[length] = '\0';
}

/* Appends ", NAME" for a name that can be shown. */
static void list(char *room, size_t size, const GENERAL_NAME *name)
{
    char text[80];
    size_t length = strlen(room);
    show(text, sizeof text, name);
    if (text[0] != '\0')
        snprintf(room + length, size - length, "%s%s", length > 0 ? ", " : "", text);
}

static bool is_wrong_name(long result)
{
    return result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH;
}

/* After a failed handshake OpenSSL has forgotten the certificate. */
int zr_tls_on_verified(int valid, X509_STORE_CTX *verified)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(verified, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct zr_tls *tls = SSL_get_app_data(ssl);
    if (valid || !is_wrong_name(X509_STORE_CTX_get_error(verified)))
        return valid;
    GENERAL_NAMES *names =
        X509_get_ext_d2i(X509_STORE_CTX_get0_cert(verified), NID_subject_alt_name, NULL, NULL);
    tls->names[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
        list(tls->names, sizeof tls->names, sk_GENERAL_NAME_value(names, i));
    GENERAL_NAMES_free(names);
    return valid;
}

static void wrong_name(struct zr_tls *tls)
{
    if (tls->names[0] == '\0')
        snprintf(tls->why->text, sizeof tls->why->text,
                 "its certificate is not for %.60s, and has no names of servers (subjectAltName); "
                 "issue one with the names by which hosts calls the server",
                 tls->name);
    else
        snprintf(tls->why->text, sizeof tls->why->text,
                 "its certificate is not for %.60s but for %s; use one of these names in hosts, or "
                 "set tls.name",
                 tls->name, tls->names);
}

static void unverified(struct zr_tls *tls, long result)
{
    const char *text = X509_verify_cert_error_string(result), *advice = "check tls.ca";
    if (is_wrong_name(result)) {
        wrong_name(tls);
        return;
    }
    if (result == X509_V_ERR_CERT_HAS_EXPIRED) {
        text = "its certificate, or that of its CA, has expired";
        advice = "renew it, or correct the clock of this machine";
    } else if (result == X509_V_ERR_CERT_NOT_YET_VALID) {
        text = "its certificate, or that of its CA, is not valid yet";
        advice = "correct the clock of this machine, or wait";
    } else if (result == X509_V_ERR_INVALID_PURPOSE) {
        text = "its certificate, or that of its CA, is not for servers";
        advice = "check its extendedKeyUsage";
    } else if (result == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
               result == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
               result == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
               result == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
               result == X509_V_ERR_CERT_SIGNATURE_FAILURE) {
        text = "its certificate is not from a CA that the session trusts";
        advice = "set tls.ca to the file of the CA that has issued it";
    }
    snprintf(tls->why->text, sizeof tls->why->text, "%s; %s", text, advice);
}

/* ---- The rest ------------------------------------------------------------------------------ */

/* The server has sent an alert. */
static const char *refusal(const struct zr_tls *tls, int reason)
{
    if (reason <= SSL_AD_REASON_OFFSET || reason > SSL_AD_REASON_OFFSET + 255)
        return NULL;
    if (tls->asked)
        return "the server demands a certificate of the client; set tls.cert and tls.key";
    switch (reason) {
    case ALERT(SSL_AD_BAD_CERTIFICATE):
    case ALERT(SSL_AD_CERTIFICATE_REQUIRED):
    case ALERT(SSL_AD_UNSUPPORTED_CERTIFICATE):
    case ALERT(SSL_AD_CERTIFICATE_REVOKED):
    case ALERT(SSL_AD_CERTIFICATE_UNKNOWN):
    case ALERT(SSL_AD_UNKNOWN_CA):
    case ALERT(SSL_AD_ACCESS_DENIED):
        return "the server refused our certificate; check tls.cert, and the server's "
               "ssl.trustStore";
    case ALERT(SSL_AD_CERTIFICATE_EXPIRED):
        return "the server says that our certificate has expired; renew the file of tls.cert";
    case ALERT(SSL_AD_PROTOCOL_VERSION):
    case ALERT(SSL_AD_INSUFFICIENT_SECURITY):
    case ALERT(SSL_AD_HANDSHAKE_FAILURE):
        return "the server accepts neither our versions of TLS (1.2 and newer) nor our ciphers; "
               "check its ssl.enabledProtocols and ssl.ciphersuites";
    default:
        return NULL;
    }
}

/* In the handshake the server broke the connection off, with an error of the system or without. */
static void hung_up(struct zr_tls *tls, int error)
{
    snprintf(tls->why->text, sizeof tls->why->text,
             "it broke the connection off during the handshake%s%s; is this its port for TLS "
             "(secureClientPort)?",
             error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
}

static void describe(struct zr_tls *tls, unsigned long code)
{
    const char *text = refusal(tls, ERR_GET_REASON(code));
    if (text == NULL && ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER)
        text = "it does not speak TLS on this port; use its port for TLS (secureClientPort)";
    if (text == NULL && ERR_GET_REASON(code) == SSL_R_UNSUPPORTED_PROTOCOL)
        text = "it has only versions of TLS before 1.2; check its ssl.enabledProtocols";
    const char *other = ERR_reason_error_string(code);
    if (text != NULL)
        snprintf(tls->why->text, sizeof tls->why->text, "%s", text);
    else
        snprintf(tls->why->text, sizeof tls->why->text, "%s: %s",
                 ERR_GET_REASON(code) > SSL_AD_REASON_OFFSET ? "the server refused"
                                                             : "it sent invalid data",
                 other != NULL ? other : "unknown error");
}

void zr_tls_explain(struct zr_tls *tls, int kind, int error)
{
    unsigned long code = ERR_peek_error();
    long verified = tls->ssl != NULL ? SSL_get_verify_result(tls->ssl) : X509_V_OK;
    bool ended = ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING ||
                 (kind == SSL_ERROR_SYSCALL && code == 0);
    tls->why->error = kind == SSL_ERROR_SYSCALL && error != 0 ? error : EPROTO;
    tls->why->text[0] = '\0';
    if (kind == SSL_ERROR_SSL && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED)
        unverified(tls, verified);
    else if (ended && !tls->up)
        hung_up(tls, error);
    else if (!ended)
        describe(tls, code);
    ERR_clear_error();
}
