/*
 * 1. The guardian's program lies beside the module, as a shared object, because that is what
 * LuaRocks builds. It has an entry point, so the dynamic loader runs it; which one that is, the
 * running program knows. 2. A helper process puts three descriptors in the place of the standard
 * ones, closes all others, starts the program in a session of its own, and ends. So the guardian
 * belongs to init.
 *
 * The helper shares our memory and this thread waits for it, as with vfork: no page of a large host
 * is copied. It tells nobody of its end (exit signal 0), so that a host that handles SIGCHLD or
 * waits for any child never hears of it. An exec would undo that, hence the program is started by
 * the helper and not in its place.
 *
 * What can go wrong: an old kernel, a sandbox, no /proc, no free descriptor. Then there is no
 * guardian.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guardian/order.h"

#define PROGRAM "guardian.so"
#define HELPER_STACK (64 * 1024)

/* The thread sanitizer takes a clone that shares our memory for a fork, and would be blind here. */
#ifdef __SANITIZE_THREAD__
#define HELPER_SHARES 0
#else
#define HELPER_SHARES (CLONE_VM | CLONE_VFORK)
#endif

struct start {
    const char *loader;
    char program[PATH_MAX];
    char process[16];   /* our id, so that people find out whose guardian it is */
    int descriptors[3]; /* as order.h numbers them */
    int error;
};

/* ---- The program ---------------------------------------------------------------------------- */

/* Called for the running program first: what its header says about the loader. */
static int find_loader(struct dl_phdr_info *info, size_t size, void *with)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP)
            *(const char **)with = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1;
}

/* False: errno says why. */
static bool find_program(struct start *start)
{
    Dl_info module;
    dl_iterate_phdr(find_loader, &start->loader);
    errno = ENOENT;
    if (start->loader == NULL || dladdr((void *)zr_spawn_guardian, &module) == 0 ||
        realpath(module.dli_fname, start->program) == NULL)
        return false;
    char *name = strrchr(start->program, '/') + 1;
    if ((size_t)(start->program + sizeof start->program - name) < sizeof PROGRAM)
        return false;
    strcpy(name, PROGRAM);
    return access(start->program, R_OK) == 0;
}

/* ---- Descriptors ---------------------------------------------------------------------------- */

/* Away from the places where the helper will put them. takes: fd. */
static int lift(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return higher;
}

/* gives: the process's end of the pair, or -1. */
static int make_descriptors(int descriptors[3])
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    descriptors[ZR_GUARDIAN_ORDERS] = lift(pair[1]);
    descriptors[ZR_GUARDIAN_PROCESS] = lift((int)syscall(SYS_pidfd_open, getpid(), 0));
    descriptors[ZR_GUARDIAN_MEMORY] = lift(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
    return lift(pair[0]);
}

static bool all_made(const int descriptors[3])
{
    return descriptors[0] >= 0 && descriptors[1] >= 0 && descriptors[2] >= 0;
}

static void close_all(const int descriptors[3])
{
    int error = errno;
    for (int i = 0; i < 3; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    errno = error;
}

/* ---- The helper ----------------------------------------------------------------------------- */

/* Its descriptors are copies of ours, its memory is ours. */
static int arrange(const int descriptors[3])
{
    for (int i = 0; i < 3; i++)
        if (dup2(descriptors[i], i) < 0)
            return errno;
    return syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) == 0 ? 0 : errno;
}

static int run_program(struct start *start)
{
    char *arguments[] = {"zk-guardian", start->program, start->process, NULL};
    char *no_environment[] = {NULL};
    posix_spawnattr_t attributes;
    pid_t pid;
    int error = posix_spawnattr_init(&attributes);
    if (error != 0)
        return error;
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    error = posix_spawn(&pid, start->loader, NULL, &attributes, arguments, no_environment);
    posix_spawnattr_destroy(&attributes);
    return error;
}

static int help(void *with)
{
    struct start *start = with;
    start->error = arrange(start->descriptors);
    if (start->error == 0)
        start->error = run_program(start);
    return 0;
}

/* False: errno says why. */
static bool run_helper(struct start *start)
{
    _Alignas(16) char stack[HELPER_STACK];
    pid_t helper = clone(help, stack + sizeof stack, HELPER_SHARES, start);
    if (helper < 0)
        return false;
    while (waitpid(helper, NULL, __WCLONE) < 0 && errno == EINTR)
        ;
    errno = start->error;
    return start->error == 0;
}

int zr_spawn_guardian(char problem[ZR_SPAWN_PROBLEM])
{
    struct start start = {.descriptors = {-1, -1, -1}};
    bool started = false;
    int fd = -1;
    snprintf(start.process, sizeof start.process, "%d", (int)getpid());
    if (find_program(&start)) {
        fd = make_descriptors(start.descriptors);
        started = fd >= 0 && all_made(start.descriptors) && run_helper(&start);
        close_all(start.descriptors);
    }
    if (started)
        return fd;
    snprintf(problem, ZR_SPAWN_PROBLEM, "the session has no guardian: %.150s: %.60s",
             start.program[0] != '\0' ? start.program : PROGRAM, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}
