#ifndef ZR_SIM_AGENDA_H
#define ZR_SIM_AGENDA_H

/*
 * agenda.h: the future events of a world, in a heap by time. Events of the same time happen in the
 * order in which they were scheduled, so that a seed repeats a history exactly.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A member of the struct that the event belongs to; zeroed until it is scheduled for the first
   time. */
struct zr_sim_event {
    int64_t at_us;
    uint64_t order;
    size_t place; /* in the heap, from 1; 0: not scheduled */
    void (*happen)(struct zr_sim_event *event);
};

struct zr_sim_agenda {
    struct zr_sim_event **heap; /* from 1 */
    size_t count, room;
    uint64_t order;
};

/* Schedules the event, or moves it. keeps: event, until it happens or is canceled. */
void zr_sim_schedule(struct zr_sim_agenda *agenda, struct zr_sim_event *event, int64_t at_us,
                     void (*happen)(struct zr_sim_event *event));

/* May be called when the event is not scheduled. */
void zr_sim_cancel(struct zr_sim_agenda *agenda, struct zr_sim_event *event);

static inline bool zr_sim_scheduled(const struct zr_sim_event *event)
{
    return event->place != 0;
}

/* The next event, or null if none is scheduled. */
struct zr_sim_event *zr_sim_next_event(const struct zr_sim_agenda *agenda);

void zr_sim_agenda_fini(struct zr_sim_agenda *agenda);

#endif
