#ifndef ZR_MINDER_TERMINAL_H
#define ZR_MINDER_TERMINAL_H

/*
 * terminal.h: which process group has the terminal in front. `home` is the process group in which
 * zkr was started, `group` that of the command. The minder blocks SIGTTOU.
 */

#include <stdbool.h>
#include <sys/types.h>

/*
 * The command was stopped by this signal. If it stopped because it needs the terminal, and home has
 * it, the command gets it and continues: false. If there is a terminal, but home is in the
 * background or the user has stopped the command: home gets the terminal back, and true, zkr is to
 * stop too. Without a terminal: false.
 */
bool zr_terminal_stopped(pid_t group, pid_t home, int signal);

/*
 * The command has ended with this wait status. If it had the terminal, home gets it back; and the
 * Ctrl-C or Ctrl-\ that ended the command, too, because the user meant all that was started.
 */
void zr_terminal_ended(pid_t group, pid_t home, int status);

#endif
