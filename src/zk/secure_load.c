/*
 * tls.so is loaded with RTLD_LOCAL, so that nobody else gets its symbols, or OpenSSL's; and with
 * RTLD_DEEPBIND, so that it gets none of anybody else's: a host may contain another OpenSSL whose
 * functions have the same names. A sanitizer has to see all calls of the allocator, so there the
 * latter flag is impossible.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/secure_load.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "zk/host_side.h"
#include "zk/program.h"

#define FILE_NAME "tls.so"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define FLAGS (RTLD_NOW | RTLD_LOCAL)
#else
#define FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct zr_tls_table *table;
static char problem[PATH_MAX + 512];

static void load(void)
{
    char path[PATH_MAX];
    if (!zr_program_beside(FILE_NAME, path, sizeof path)) {
        snprintf(problem, sizeof problem, "the folder of " FILE_NAME " was not found");
        return;
    }
    void *loaded = dlopen(path, FLAGS);
    const char *why = loaded == NULL ? dlerror() : "";
    table = loaded != NULL ? dlsym(loaded, ZR_TLS_SYMBOL) : NULL;
    if (table != NULL && table->layout == ZR_TLS_LAYOUT)
        return;
    table = NULL;
    snprintf(problem, sizeof problem,
             "zkrecipes was built without TLS, or OpenSSL 3 is missing here: install Debian's "
             "libssl-dev, and then zkrecipes again; where it only runs, libssl3 (%.300s)",
             loaded == NULL ? why : "its " FILE_NAME " is of another version");
}

const struct zr_tls_table *zr_secure_table(void)
{
    pthread_once(&once, load);
    return table;
}

const char *zr_zk_tls_problem(void)
{
    return zr_secure_table() != NULL ? NULL : problem;
}
