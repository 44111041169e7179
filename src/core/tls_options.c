#include "core/tls_options.h"

#include "core/alloc.h"

static bool copy(const char **to, const char *from)
{
    *to = from != NULL ? zr_copy_string(from) : NULL;
    return *to != NULL || from == NULL;
}

bool zr_tls_options_copy(struct zr_tls_options *to, const struct zr_tls_options *from)
{
    *to = (struct zr_tls_options){.wanted = from->wanted, .any_server = from->any_server};
    if (from->password != NULL && (to->password = zr_secret_copy_string(from->password)) == NULL)
        return false;
    return copy(&to->ca, from->ca) && copy(&to->cert, from->cert) && copy(&to->key, from->key) &&
           copy(&to->name, from->name);
}

void zr_tls_options_fini(struct zr_tls_options *options)
{
    zr_free((char *)options->ca);
    zr_free((char *)options->cert);
    zr_free((char *)options->key);
    zr_secret_free((char *)options->password);
    zr_free((char *)options->name);
    *options = (struct zr_tls_options){.wanted = false};
}
