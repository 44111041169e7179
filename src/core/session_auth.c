#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <string.h>

#include "core/alloc.h"
#include "core/sasl_options.h"
#include "core/session.h"
#include "core/tls_options.h"

/*
 * The credentials of a session: those it was opened with, and those that add_auth has added. They
 * are sent first on every handle.
 */

/* Empty ones may be null. */
static bool same(struct zr_bytes one, struct zr_bytes other)
{
    return one.length == other.length &&
           (one.length == 0 || memcmp(one.at, other.at, one.length) == 0);
}

void zr_forget_secret(struct zr_bytes secret)
{
    if (secret.length > 0)
        explicit_bzero((char *)secret.at, secret.length);
}

bool zr_session_knows_auth(const struct zr_session *session, const struct zr_auth *auth)
{
    for (size_t i = 0; i < session->auth_count; i++) {
        const struct zr_auth *known = &session->auth[i];
        if (strcmp(known->scheme, auth->scheme) == 0 && same(known->credential, auth->credential))
            return true;
    }
    return false;
}

enum zr_status zr_session_learn_auth(struct zr_session *session, const struct zr_auth *auth)
{
    struct zr_bytes from = auth->credential;
    struct zr_auth *longer = zr_alloc((session->auth_count + 1) * sizeof(*longer));
    char *scheme = zr_copy_string(auth->scheme);
    char *credential = zr_secret_alloc(from.length);
    if (longer == NULL || scheme == NULL || credential == NULL) {
        zr_free(longer);
        zr_free(scheme);
        zr_secret_free(credential);
        return ZR_NO_MEMORY;
    }
    if (from.length > 0)
        memcpy(credential, from.at, from.length);
    if (session->auth_count > 0)
        memcpy(longer, session->auth, session->auth_count * sizeof(*longer));
    longer[session->auth_count++] = (struct zr_auth){scheme, {credential, from.length}};
    zr_free(session->auth);
    session->auth = longer;
    return ZR_OK;
}

void zr_session_forget_secrets(struct zr_session *session)
{
    for (size_t i = 0; i < session->auth_count; i++) {
        zr_free((char *)session->auth[i].scheme);
        zr_secret_free((char *)session->auth[i].credential.at);
    }
    zr_free(session->auth);
    session->auth = NULL;
    session->auth_count = 0;
    zr_tls_options_fini(&session->tls);
    zr_sasl_options_fini(&session->sasl);
}
