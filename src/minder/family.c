/*
 * 1. The child gets a process group of its own, so that a signal reaches all of a pipeline or a
 *    script, and so that a signal for the group of zkr does not kill it without zkr's knowledge.
 * 2. PR_SET_PDEATHSIG is the second line: it kills the child if the minder itself is killed.
 * 3. The kernel lists the minder's children in /proc. These are the child, and processes whose
 *    parents have died: the minder is their subreaper. It reaps each child itself, so no number in
 *    the list can be that of a stranger.
 *
 * What can go wrong: a process that forks all the time escapes one pass over the list, but its
 * new children are in a later one. The list may leave a process out while another one ends; that
 * end is a SIGCHLD, after which the minder passes over the list again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "minder/family.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CHILDREN "/proc/thread-self/children"
#define LAST_SIGNAL 31 /* of those that zkr may have been started with ignored */

/* ---- The start ----------------------------------------------------------------------------- */

static void ignore(unsigned long signals)
{
    for (int i = 1; i <= LAST_SIGNAL; i++)
        if ((signals >> (i - 1) & 1) != 0)
            signal(i, SIG_IGN);
}

/* In the child. */
static void become(char **command, pid_t minder, const sigset_t *mask, unsigned long ignored)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != minder)
        _exit(127); /* the minder died before the line above */
    ignore(ignored);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(command[0], command);
    int error = errno;
    dprintf(STDERR_FILENO, "zkr: %s: %s\n", command[0], strerror(error));
    _exit(error == ENOENT ? 127 : 126);
}

pid_t zr_family_start(char **command, const sigset_t *mask, unsigned long ignored)
{
    pid_t minder = getpid(), child = fork();
    if (child == 0)
        become(command, minder, mask, ignored);
    if (child > 0)
        setpgid(child, child); /* whichever of the two comes first */
    return child;
}

/* ---- Signals ------------------------------------------------------------------------------- */

static void signal_one(pid_t pid, pid_t child, int signal)
{
    if (pid > 0 && (child == 0 || getpgid(pid) != child))
        kill(pid, signal);
}

/* A number may be cut at the end of a part. */
static void signal_listed(int list, pid_t child, int signal)
{
    char part[512];
    pid_t pid = 0;
    ssize_t length;
    while ((length = read(list, part, sizeof part)) > 0) {
        for (ssize_t i = 0; i < length; i++) {
            if (part[i] >= '0' && part[i] <= '9') {
                pid = 10 * pid + (part[i] - '0');
            } else {
                signal_one(pid, child, signal);
                pid = 0;
            }
        }
    }
    signal_one(pid, child, signal);
}

void zr_family_signal(pid_t child, int signal)
{
    if (child > 0)
        kill(-child, signal);
    int list = open(CHILDREN, O_RDONLY | O_CLOEXEC);
    if (list < 0)
        return;
    signal_listed(list, child, signal);
    close(list);
}
