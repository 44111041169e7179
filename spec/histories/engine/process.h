#ifndef ZR_SPEC_PROCESS_H
#define ZR_SPEC_PROCESS_H

/*
 * process.h: a process with its engine, its session and its contenders, and the faults that are not
 * part of the world's own: its session is closed and opened again, its connections break, it is
 * paused, a server stops.
 */

#include "contender.h"

/* Fills in the process, which begins to connect. It lives as long as the history. */
void open_process(struct process *process, int number);

/* Begins to close its session; process->closing is the task. */
void close_session(struct process *process);

/* Handles all that has come in, then lets its contenders act. */
void attend(struct process *process);

/* When it must be attended next if nothing comes in. */
int64_t next_due(struct process *process);

/* True if its contenders have no attempt left. */
bool all_done(const struct process *process);

/* One random fault of a process, a server or a znode; sets when the next one comes. */
void trouble(void);

/* All faults end. */
void heal(void);

#endif
