#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "core/sasl_options.h"

#include <string.h>

#include "core/alloc.h"

static bool is(const char *text, const char *word)
{
    return text != NULL && strcmp(text, word) == 0;
}

bool zr_sasl_is_kerberos(const struct zr_sasl_options *options)
{
    return options->wanted && is(options->mechanism, "GSSAPI");
}

const char *zr_sasl_options_misuse(const struct zr_sasl_options *options)
{
    if (!options->wanted)
        return NULL;
    bool digest = is(options->mechanism, "DIGEST-MD5"), kerberos = zr_sasl_is_kerberos(options);
    if (!digest && !kerberos)
        return "option 'sasl': the mechanism must be \"DIGEST-MD5\" or \"GSSAPI\"";
    if (digest && (options->user == NULL || options->password == NULL || options->keytab != NULL))
        return "option 'sasl': DIGEST-MD5 needs user and password, and has no keytab";
    if (kerberos && options->password != NULL)
        return "option 'sasl': GSSAPI has no password, but tickets or a keytab";
    if (options->user != NULL && options->user[0] == '\0')
        return "option 'sasl': the user's name is empty";
    if (options->user != NULL && strlen(options->user) > ZR_SASL_USER_MAX)
        return "option 'sasl': the user's name is longer than 255 bytes";
    return NULL;
}

static bool copy(const char **to, const char *from)
{
    *to = from != NULL ? zr_copy_string(from) : NULL;
    return *to != NULL || from == NULL;
}

bool zr_sasl_options_copy(struct zr_sasl_options *to, const struct zr_sasl_options *from)
{
    *to = (struct zr_sasl_options){.wanted = from->wanted};
    return copy(&to->mechanism, from->mechanism) && copy(&to->user, from->user) &&
           copy(&to->keytab, from->keytab) &&
           (from->password == NULL ||
            (to->password = zr_secret_copy_string(from->password)) != NULL);
}

void zr_sasl_options_fini(struct zr_sasl_options *options)
{
    zr_free((char *)options->mechanism);
    zr_free((char *)options->user);
    zr_secret_free((char *)options->password);
    zr_free((char *)options->keytab);
    *options = (struct zr_sasl_options){.wanted = false};
}
