/*
 * tls.so and kerberos.so are loaded with RTLD_LOCAL, so that nobody else gets their symbols, or
 * OpenSSL's; and with RTLD_DEEPBIND, so that they get none of anybody else's: a host may contain
 * another OpenSSL whose functions have the same names. A sanitizer has to see all calls of the
 * allocator, so there the latter flag is impossible.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/secure_load.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "core/sasl_options.h"
#include "zk/host_side.h"
#include "zk/program.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define FLAGS (RTLD_NOW | RTLD_LOCAL)
#else
#define FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

/* A shared object: how its table is found, and what to say without it. */
struct part {
    const char *file, *symbol;
    int layout;
    const char *advice;
    const void *table; /* when it was loaded; its layout is the first member */
    char problem[PATH_MAX + 512];
};

static pthread_once_t tls_once = PTHREAD_ONCE_INIT, kerberos_once = PTHREAD_ONCE_INIT;

static struct part tls = {
    .file = "tls.so",
    .symbol = ZR_TLS_SYMBOL,
    .layout = ZR_TLS_LAYOUT,
    .advice = "zkrecipes was built without TLS, or OpenSSL 3 is missing here: install Debian's "
              "libssl-dev, and then zkrecipes again; where it only runs, libssl3"};

static struct part kerberos = {
    .file = "kerberos.so",
    .symbol = ZR_KERBEROS_SYMBOL,
    .layout = ZR_KERBEROS_LAYOUT,
    .advice = "zkrecipes was built without Kerberos, or its library is missing here: install "
              "Debian's libkrb5-dev, and then zkrecipes again; where it only runs, "
              "libgssapi-krb5-2"};

static void load(struct part *part)
{
    char path[PATH_MAX];
    if (!zr_program_beside(part->file, path, sizeof path)) {
        snprintf(part->problem, sizeof part->problem, "the folder of %s was not found", part->file);
        return;
    }
    void *loaded = dlopen(path, FLAGS);
    const char *why = loaded == NULL ? dlerror() : "";
    const int *table = loaded != NULL ? dlsym(loaded, part->symbol) : NULL;
    if (table != NULL && *table == part->layout)
        part->table = table;
    else
        snprintf(part->problem, sizeof part->problem, "%s (%s%.300s)", part->advice,
                 loaded == NULL ? "" : part->file, loaded == NULL ? why : " is of another version");
}

static void load_tls(void)
{
    load(&tls);
}

static void load_kerberos(void)
{
    load(&kerberos);
}

const struct zr_tls_table *zr_secure_table(void)
{
    pthread_once(&tls_once, load_tls);
    return tls.table;
}

const struct zr_kerberos_table *zr_secure_kerberos(void)
{
    pthread_once(&kerberos_once, load_kerberos);
    return kerberos.table;
}

const char *zr_zk_tls_problem(void)
{
    return zr_secure_table() != NULL ? NULL : tls.problem;
}

const char *zr_zk_sasl_problem(const struct zr_sasl_options *options)
{
    bool missing = zr_sasl_is_kerberos(options) && zr_secure_kerberos() == NULL;
    return missing ? kerberos.problem : NULL;
}
