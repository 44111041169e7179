#ifndef ZR_SIGNAL_H
#define ZR_SIGNAL_H

/*
 * signal.h: what tasks wait for: a watch, a listing, a seat given up, a change of state. Waiting
 * tasks are linked into it; firing wakes them all, in the order in which they came.
 * Thread: the host's.
 */

#include <stdint.h>

#include "core/list.h"
#include "core/status.h"

struct zr_signal {
    struct zr_list tasks; /* struct zr_task, by in_signal */
};

static inline void zr_signal_init(struct zr_signal *signal)
{
    zr_list_init(&signal->tasks);
}

/* Wakes all that wait; their verbs see `outcome`. */
void zr_signal_fire(struct zr_signal *signal, enum zr_status outcome);

/* The same for those alone for whom this word is enough (task->enough): task->told is true, and
   task->word is the word. */
void zr_signal_tell(struct zr_signal *signal, int64_t word);

#endif
