/*
 * 1. When the module is loaded, find its folder and open the guardian's program there. The program
 *    is a shared object, because that is what LuaRocks builds.
 * 2. Each guardian is started from a copy of that descriptor.
 *
 * The program is opened only once, because after a chdir a relative LUA_CPATH names another file:
 * a user that may write there could make us run any program with the session's password. If the
 * host has closed our descriptor, we open the program's absolute path again, and start it only if
 * it is still the same file.
 *
 * The module's own file is noted too: whoever loads another part of the package later asks whether
 * the package is still the one that was loaded. An upgrade replaces this file by one of another
 * time or size; to install the same package again changes neither.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/program.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guardian/order.h"
#include "zk/host_side.h"

#define PROGRAM "guardian.so"

/* Set when the module is loaded, and constant since then. */
static struct {
    int fd;    /* the host may have closed it and reused its number */
    int error; /* why it could not be opened, or 0 */
    dev_t device;
    ino_t inode;
    char path[PATH_MAX];
} program = {.fd = -1};

/* As above. */
static struct {
    struct timespec changed;
    off_t size; /* 0: unknown */
    char path[PATH_MAX];
} module;

/* ---- Descriptors ---------------------------------------------------------------------------- */

/* gives: a copy above the numbers that the helper assigns, or -1. */
static int high_copy(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, ZR_GUARDIAN_DESCRIPTORS);
}

int zr_program_lift(int fd)
{
    int copy = high_copy(fd);
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return copy;
}

/* ---- When the module is loaded ------------------------------------------------------------- */

static bool find_module(void)
{
    Dl_info found;
    struct stat stat_of;
    errno = ENOENT;
    if (dladdr((void *)zr_program_get, &found) == 0 ||
        realpath(found.dli_fname, module.path) == NULL || stat(module.path, &stat_of) != 0)
        return false;
    module.changed = stat_of.st_mtim;
    module.size = stat_of.st_size;
    return true;
}

/* Sets program.path, beside the module's file. False: errno says why. */
static bool find_path(void)
{
    if (!find_module())
        return false;
    strcpy(program.path, module.path);
    char *name = strrchr(program.path, '/') + 1;
    errno = ENAMETOOLONG;
    if ((size_t)(program.path + sizeof program.path - name) < sizeof PROGRAM)
        return false;
    strcpy(name, PROGRAM);
    return true;
}

static bool open_program(void)
{
    struct stat stat;
    program.fd = zr_program_lift(open(program.path, O_RDONLY | O_CLOEXEC));
    if (program.fd < 0 || fstat(program.fd, &stat) != 0)
        return false;
    program.device = stat.st_dev;
    program.inode = stat.st_ino;
    return true;
}

/* The dynamic loader runs it before anything else of the module. */
__attribute__((constructor)) static void find_program(void)
{
    int error = errno;
    if (!find_path() || !open_program())
        program.error = errno;
    errno = error;
}

/* ---- When a guardian is started ------------------------------------------------------------ */

static bool is_program(int fd)
{
    struct stat stat;
    return fd >= 0 && fstat(fd, &stat) == 0 && stat.st_dev == program.device &&
           stat.st_ino == program.inode;
}

int zr_program_get(void)
{
    int fd = is_program(program.fd) ? high_copy(program.fd)
                                    : zr_program_lift(open(program.path, O_RDONLY | O_CLOEXEC));
    if (fd < 0 || is_program(fd))
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

int zr_program_error(void)
{
    return program.error;
}

bool zr_program_beside(const char *name, char *path, size_t size)
{
    const char *slash = strrchr(program.path, '/');
    if (slash == NULL)
        return false;
    int length =
        snprintf(path, size, "%.*s%s", (int)(slash + 1 - program.path), program.path, name);
    return length > 0 && (size_t)length < size;
}

bool zr_zk_replaced(void)
{
    struct stat now;
    if (module.size == 0)
        return false;
    return stat(module.path, &now) != 0 || now.st_size != module.size ||
           now.st_mtim.tv_sec != module.changed.tv_sec ||
           now.st_mtim.tv_nsec != module.changed.tv_nsec;
}

const char *zr_program_path(void)
{
    return program.path[0] != '\0' ? program.path : PROGRAM;
}
