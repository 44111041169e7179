/*
 * A binary heap in an array that starts at 1. Each event knows its place, so that it can be moved
 * and canceled without a search.
 */
#include "sim/agenda.h"

#include "sim/world_alloc.h"

static bool before(const struct zr_sim_event *a, const struct zr_sim_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void put(struct zr_sim_agenda *agenda, size_t place, struct zr_sim_event *event)
{
    agenda->heap[place] = event;
    event->place = place;
}

/* Puts the event where it belongs. This place is free until then. */
static void settle(struct zr_sim_agenda *agenda, size_t place, struct zr_sim_event *event)
{
    struct zr_sim_event *const *heap = agenda->heap;
    for (; place > 1 && before(event, heap[place / 2]); place /= 2)
        put(agenda, place, heap[place / 2]);
    for (size_t child; (child = place * 2) <= agenda->count; place = child) {
        if (child < agenda->count && before(heap[child + 1], heap[child]))
            child++;
        if (!before(heap[child], event))
            break;
        put(agenda, place, heap[child]);
    }
    put(agenda, place, event);
}

void zr_sim_schedule(struct zr_sim_agenda *agenda, struct zr_sim_event *event, int64_t at_us,
                     void (*happen)(struct zr_sim_event *event))
{
    if (agenda->count + 1 >= agenda->room)
        agenda->heap = zr_sim_grow(agenda->heap, agenda->room, &agenda->room, sizeof(event));
    event->at_us = at_us;
    event->order = agenda->order++;
    event->happen = happen;
    settle(agenda, event->place > 0 ? event->place : ++agenda->count, event);
}

void zr_sim_cancel(struct zr_sim_agenda *agenda, struct zr_sim_event *event)
{
    size_t place = event->place;
    if (place == 0)
        return;
    event->place = 0;
    struct zr_sim_event *last = agenda->heap[agenda->count--];
    if (last != event)
        settle(agenda, place, last);
}

struct zr_sim_event *zr_sim_next_event(const struct zr_sim_agenda *agenda)
{
    return agenda->count > 0 ? agenda->heap[1] : NULL;
}

void zr_sim_agenda_fini(struct zr_sim_agenda *agenda)
{
    zr_sim_release(agenda->heap);
    *agenda = (struct zr_sim_agenda){0};
}
