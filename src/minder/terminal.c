/*
 * The command runs in another process group than zkr, and only one group is in front of a terminal.
 * The command gets the terminal when it needs it: when it reads it or changes its settings, the
 * kernel stops it by SIGTTIN or SIGTTOU, as it stops a job in the background. Until then the group
 * of zkr stays in front: the rest of a pipeline (`zkr lock ... | less`) needs the terminal too, and
 * Ctrl-C reaches everything that the user has started (zkr passes it on to the command).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "minder/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* gives: a descriptor; or -1: there is no terminal. */
static int open_terminal(void)
{
    return open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
}

/* True: the command has the terminal, and continues. It continues first: SIGCONT would undo a
   Ctrl-Z for the group that is in front. If it needs the terminal before it has it, it stops again.
 */
static bool hand_over(int terminal, pid_t group, pid_t home)
{
    pid_t front = tcgetpgrp(terminal);
    if (front != group && front != home)
        return false;
    kill(-group, SIGCONT);
    return front == group || tcsetpgrp(terminal, group) == 0;
}

bool zr_terminal_stopped(pid_t group, pid_t home, int signal)
{
    int terminal = open_terminal();
    if (terminal < 0)
        return false;
    bool needs_it = signal == SIGTTIN || signal == SIGTTOU;
    bool has_it = needs_it && hand_over(terminal, group, home);
    if (!has_it && tcgetpgrp(terminal) == group)
        tcsetpgrp(terminal, home);
    close(terminal);
    return !has_it;
}

void zr_terminal_ended(pid_t group, pid_t home, int status)
{
    int terminal = open_terminal();
    if (terminal < 0)
        return;
    if (tcgetpgrp(terminal) == group) {
        tcsetpgrp(terminal, home);
        if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT))
            kill(-home, WTERMSIG(status));
    }
    close(terminal);
}
