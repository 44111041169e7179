/*
 * Reads the certificates. That is done for each connection anew, so that new files need no restart.
 *
 * What can go wrong: a file is missing, is not PEM, or needs another password; the key is that of
 * another certificate. The text names the option and the file.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "tls/parts.h"

/* A password that OpenSSL asks for; without this it would ask on the terminal, and wait. */
struct password {
    const char *text; /* or null */
    bool asked;
};

static int on_password(char *room, int size, int writing, void *with)
{
    (void)writing;
    struct password *password = with;
    password->asked = true;
    size_t length = password->text != NULL ? strlen(password->text) : 0;
    if (password->text == NULL || length > (size_t)size)
        return -1;
    memcpy(room, password->text, length);
    return (int)length;
}

/* The first error that is the system's, or the first one. */
static const char *reason(void)
{
    unsigned long first = ERR_peek_error(), code;
    while ((code = ERR_get_error()) != 0)
        if (ERR_SYSTEM_ERROR(code))
            return strerror(ERR_GET_REASON(code));
    if (ERR_GET_REASON(first) == PEM_R_NO_START_LINE ||
        ERR_GET_REASON(first) == X509_R_NO_CERTIFICATE_OR_CRL_FOUND)
        return "it is not what it should be, in PEM form";
    const char *text = ERR_reason_error_string(first);
    return text != NULL ? text : "unknown error";
}

static bool unreadable(const char *option, const char *file, struct zr_tls_failure *why)
{
    why->error = EPROTO;
    snprintf(why->text, sizeof why->text, "cannot read the file of tls.%s, %.200s: %.120s", option,
             file, reason());
    return false;
}

static bool load_ca(SSL_CTX *context, const char *file, struct zr_tls_failure *why)
{
    if (file == NULL)
        return SSL_CTX_set_default_verify_paths(context) == 1 ||
               unreadable("ca", "(the system's CAs)", why);
    return SSL_CTX_load_verify_locations(context, file, NULL) == 1 || unreadable("ca", file, why);
}

static bool unfit(const struct zr_tls_files *files, struct zr_tls_failure *why)
{
    why->error = EPROTO;
    snprintf(why->text, sizeof why->text,
             "the key in %.180s does not belong to the certificate in %.180s; check tls.key and "
             "tls.cert",
             files->key != NULL ? files->key : files->cert, files->cert);
    return false;
}

static bool wrong_password(const struct zr_tls_files *files, struct zr_tls_failure *why)
{
    why->error = EPROTO;
    snprintf(why->text, sizeof why->text, "the key in %.200s is encrypted, and tls.password %s",
             files->key != NULL ? files->key : files->cert,
             files->password != NULL ? "is wrong" : "is not given");
    return false;
}

static bool load_key(SSL_CTX *context, const struct zr_tls_files *files, struct zr_tls_failure *why)
{
    const char *file = files->key != NULL ? files->key : files->cert;
    struct password password = {files->password, false};
    SSL_CTX_set_default_passwd_cb(context, on_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, &password);
    bool loaded = SSL_CTX_use_PrivateKey_file(context, file, SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    if (!loaded && ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH)
        return unfit(files, why);
    if (!loaded)
        return password.asked ? wrong_password(files, why) : unreadable("key", file, why);
    return SSL_CTX_check_private_key(context) == 1 || unfit(files, why);
}

static bool load(SSL_CTX *context, const struct zr_tls_files *files, struct zr_tls_failure *why)
{
    if (!files->any_server && !load_ca(context, files->ca, why))
        return false;
    if (files->cert == NULL)
        return true;
    if (SSL_CTX_use_certificate_chain_file(context, files->cert) != 1)
        return unreadable("cert", files->cert, why);
    return load_key(context, files, why);
}

SSL_CTX *zr_tls_context(const struct zr_tls_files *files, struct zr_tls_failure *why)
{
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) {
        why->error = ENOMEM;
        ERR_clear_error();
        return NULL;
    }
    SSL_CTX_set_verify(context, files->any_server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       zr_tls_on_verified);
    if (SSL_CTX_get_min_proto_version(context) < TLS1_2_VERSION) /* the system may demand more */
        SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (load(context, files, why)) {
        ERR_clear_error();
        return context;
    }
    SSL_CTX_free(context);
    ERR_clear_error();
    return NULL;
}
