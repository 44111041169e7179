/*
 * 1. When the module is loaded, the guardian's program is found and opened (program.c).
 * 2. The caller makes the pair of sockets and may write into it at once. A thread does the rest,
 *    because an exec reads from a disk, and a disk may hang.
 * 3. A helper process moves four descriptors to the lowest numbers, closes all others, starts the
 *    program in a session of its own, and ends. So init becomes the guardian's parent. The program
 *    has an entry point, so the dynamic loader runs it; the header of the running program names the
 *    loader.
 *
 * The helper shares our memory and the thread waits for it, as with vfork, so no page of a large
 * host is copied. Its end causes no signal (exit signal 0), so a host that handles SIGCHLD or waits
 * for any child never hears of it. An exec would undo that. So the helper starts the program as
 * another process, and does not become it.
 *
 * What can go wrong: an old kernel, a sandbox, no /proc, no free descriptor, another file at the
 * program's path. Then there is no guardian.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/alloc.h"
#include "guardian/order.h"
#include "zk/program.h"
#include "zk/thread.h"

#define HELPER_STACK (64 * 1024)

/* The thread sanitizer takes a clone that shares our memory for a fork, and would miss what it
   does. */
#ifdef __SANITIZE_THREAD__
#define HELPER_SHARES 0
#else
#define HELPER_SHARES (CLONE_VM | CLONE_VFORK)
#endif

struct start {
    const char *loader;
    int descriptors[ZR_GUARDIAN_DESCRIPTORS]; /* as order.h numbers them */
    char process[16]; /* our process id, so that an operator can tell whose guardian it is */
    int error;
    const char *missing; /* static; null: the program itself could not be started */
};

/* ---- What the guardian gets ----------------------------------------------------------------- */

/* False: errno says why, and start->missing what failed. */
static bool make_descriptors(struct start *start)
{
    int *made = start->descriptors;
    made[ZR_GUARDIAN_MEMORY] = zr_program_lift(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
    if (made[ZR_GUARDIAN_MEMORY] < 0) {
        start->missing = "it needs /proc";
        return false;
    }
    return (made[ZR_GUARDIAN_PROCESS] =
                zr_program_lift((int)syscall(SYS_pidfd_open, getpid(), 0))) >= 0 &&
           (made[ZR_GUARDIAN_PROGRAM] = zr_program_get()) >= 0;
}

static void close_all(const int descriptors[ZR_GUARDIAN_DESCRIPTORS])
{
    for (int i = 0; i < ZR_GUARDIAN_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
}

/* ---- The helper ----------------------------------------------------------------------------- */

/* It has copies of our descriptors, and shares our memory. */
static int arrange(const int descriptors[ZR_GUARDIAN_DESCRIPTORS])
{
    for (int i = 0; i < ZR_GUARDIAN_DESCRIPTORS; i++)
        if (dup2(descriptors[i], i) < 0)
            return errno;
    return syscall(SYS_close_range, ZR_GUARDIAN_DESCRIPTORS, ~0U, 0) == 0 ? 0 : errno;
}

static int run_program(struct start *start)
{
    char from[] = "/proc/self/fd/" ZR_GUARDIAN_PROGRAM_DIGIT;
    char *arguments[] = {"zk-guardian", from, (char *)zr_program_path(), start->process, NULL};
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

/* ---- The thread ----------------------------------------------------------------------------- */

/* borrows: what, the thing that failed; null: the program. */
static void tell_problem(char problem[ZR_SPAWN_PROBLEM], const char *what, int error)
{
    if (what == NULL)
        what = zr_program_path();
    snprintf(problem, ZR_SPAWN_PROBLEM, "the session has no guardian: %.150s: %.60s", what,
             strerror(error));
}

/* Sends the problem to the other end of the pair. takes: with, a struct start. */
static void *run(void *with)
{
    struct start *start = with;
    if (!make_descriptors(start) || !run_helper(start)) {
        char problem[ZR_SPAWN_PROBLEM];
        tell_problem(problem, start->missing, errno);
        send(start->descriptors[ZR_GUARDIAN_ORDERS], problem, sizeof problem,
             MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    close_all(start->descriptors);
    zr_free(start);
    return NULL;
}

/* Called for the running program first: reads the loader's path from its header. */
static int find_loader(struct dl_phdr_info *info, size_t size, void *with)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_INTERP)
            *(const char **)with = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1;
}

/* takes: orders, the guardian's end of the pair, but only if it returns true; if not, errno says
   why. */
static bool start_thread(int orders)
{
    struct start *start = zr_alloc(sizeof *start);
    errno = ENOMEM;
    if (start == NULL)
        return false;
    for (int i = 0; i < ZR_GUARDIAN_DESCRIPTORS; i++)
        start->descriptors[i] = -1;
    start->descriptors[ZR_GUARDIAN_ORDERS] = orders;
    snprintf(start->process, sizeof start->process, "%d", (int)getpid());
    dl_iterate_phdr(find_loader, &start->loader);
    errno = ENOENT;
    if (start->loader != NULL && zr_thread_start(run, start))
        return true;
    zr_free(start);
    return false;
}

/* gives: our end of the pair, or -1, and then errno says why. */
static int start_it(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    pair[1] = zr_program_lift(pair[1]);
    if (pair[1] >= 0 && start_thread(pair[1]))
        return pair[0];
    int error = errno;
    close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
    errno = error;
    return -1;
}

int zr_spawn_guardian(char problem[ZR_SPAWN_PROBLEM])
{
    errno = zr_program_error();
    int fd = errno == 0 ? start_it() : -1;
    if (fd < 0)
        tell_problem(problem, NULL, errno);
    return fd;
}
