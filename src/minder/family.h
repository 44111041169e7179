#ifndef ZR_MINDER_FAMILY_H
#define ZR_MINDER_FAMILY_H

/*
 * family.h: the command's process (the child) and all processes that it has started, also those
 * that have left its process group or whose parents are gone: the minder is their reaper.
 */

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Starts the command in a process group of its own, with this signal mask and with the signals of
 * `ignored` ignored (bit N - 1: signal N). It is killed if the minder dies. Returns its process id,
 * or -1, and then errno says why. If it cannot be executed, the child says so on standard error and
 * exits with 126 or 127, as env does. borrows: all.
 */
pid_t zr_family_start(char **command, const sigset_t *mask, unsigned long ignored);

/*
 * Sends the signal to the child's process group, and to each process outside of the group whose
 * parent is the minder. child: 0 if it was reaped; then to each process whose parent is the minder.
 * When a process of the family dies, its children become the minder's, so a family that gets
 * SIGKILL again and again, until no child is left, is gone.
 */
void zr_family_signal(pid_t child, int signal);

#endif
