#ifndef ZR_SEATS_H
#define ZR_SEATS_H

/*
 * seats.h: one listing of a directory: its contenders, in queue order. Many tasks share one.
 * Thread: the host's.
 */

#include "core/stem.h"

/* The contenders that have a usable sequence number, by number. */
struct zr_seats {
    int refs;
    struct zr_stat stat;    /* of the directory, as it was listed */
    struct zr_names *names; /* all children; those of `at` point into it */
    const char *foreign;    /* one of them that has a foreign contender's name, or null */
    size_t count;
    bool counted;   /* `unusual` is known */
    size_t unusual; /* see zr_seats_unusual */
    struct zr_seat_name at[];
};

/* takes: names, when it succeeds. gives: seats, with one reference; null: no memory. recipes: as of
   zr_stem_read. */
struct zr_seats *zr_seats_new(const struct zr_recipe *const *recipes, struct zr_names *names);

/* How many of `at` have a name that is not usual (zr_is_usual). It is counted once. */
size_t zr_seats_unusual(const struct zr_recipe *const *recipes, struct zr_seats *seats);

/* Harmless for null. */
void zr_seats_unref(struct zr_seats *seats);

#endif
