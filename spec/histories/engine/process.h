#ifndef ZR_SPEC_PROCESS_H
#define ZR_SPEC_PROCESS_H

/*
 * process.h: a process with its engine, its session and its contenders. Also the faults that the
 * harness adds to those of the world: a session is closed and opened again, connections break, a
 * process is paused, a server stops.
 */

#include "contender.h"

/* Fills in the process and begins to connect. The process lives as long as the history. */
void open_process(struct process *process, int number);

/* Begins to close the session; the task is process->closing. */
void close_session(struct process *process);

/* Dispatches what has come in, then lets the contenders act. */
void attend(struct process *process);

/* When to call attend() next if nothing comes in. */
int64_t next_due(struct process *process);

/* True if no contender has an attempt left. */
bool all_done(const struct process *process);

/* Sets the sequence number of the directory near its end, unless that was done already. */
void use_up(void);

/* Causes one random fault of a process, a server or a znode, and sets the time of the next one. */
void trouble(void);

/* Ends all faults. */
void heal(void);

#endif
