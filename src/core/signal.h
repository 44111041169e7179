#ifndef ZR_SIGNAL_H
#define ZR_SIGNAL_H

/*
 * signal.h: a thing that tasks wait for: an event of a watch, a listing, the end of a seat, a
 * change of state. Waiting tasks are linked into it. zr_signal_fire (task.h) wakes them all, in the
 * order in which they came. Thread: the host's.
 */

#include "core/list.h"

struct zr_signal {
    struct zr_list tasks; /* struct zr_task, by in_signal */
};

static inline void zr_signal_init(struct zr_signal *signal)
{
    zr_list_init(&signal->tasks);
}

#endif
