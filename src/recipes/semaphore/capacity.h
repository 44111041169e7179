#ifndef ZR_CAPACITY_H
#define ZR_CAPACITY_H

/*
 * capacity.h: computes what is free in a semaphore, from its limit (the data of its directory) and
 * the permits of the seats in a listing. Pure functions. Any thread.
 *
 * The data are "<limit>", or, after the limit was made smaller, "<limit> <earlier> <until>": seats
 * with a number up to `until` may have been granted under a limit as high as `earlier`. Without
 * `until`, any seat may have been: a client is about to make the limit smaller.
 */

#include "core/seats.h"
#include "recipes/hold.h"

#define ZR_CAPACITY_TEXT sizeof("2147483647 2147483647 2147483647")

struct zr_capacity {
    int64_t limit;
    int64_t earlier; /* 0: the limit was never higher for the seats that are there */
    int64_t until;   /* ZR_CAPACITY_ALL: all seats */
};

#define ZR_CAPACITY_ALL INT64_MAX

/* False if the data are not a limit. borrows: data. */
bool zr_capacity_read(struct zr_bytes data, struct zr_capacity *capacity);

/* Writes the data into `text`, which has ZR_CAPACITY_TEXT bytes, and returns them. */
struct zr_bytes zr_capacity_write(const struct zr_capacity *capacity, char *text);

/* The stem of its seats; the note is "<permits>-". Without a number of permits, a name is no
   seat of a semaphore. */
extern const struct zr_stem zr_permits_stem;

/* The word of a seat with this version of its data: from 1 on it is marked (mark.h). Doubled, so
   that a reader of a read/write lock that waits for the seat does not take it for a writer that
   shares. */
#define ZR_SAYS_MARKED(version) ZR_SAYS_OWN((int64_t)(version)*2)

/* The permits of a seat, 1 to 2147483647; 0: it is no seat of a semaphore. */
int64_t zr_permits(const struct zr_seat_name *seat);

/* The permits of the seats before `index`. */
int64_t zr_permits_taken(const struct zr_seats *seats, size_t index);

/* False if a seat with this number does not fit. taken: the permits of all seats up to it. */
bool zr_permits_fit(const struct zr_capacity *capacity, int64_t sequence, int64_t taken);

/* False if the seat waits, or has not looked yet. index -1: true. If it is granted later, then by a
   listing and a limit younger than these. */
bool zr_permits_may_hold(const struct zr_capacity *capacity, const struct zr_seats *seats,
                         int64_t index);

/* The next seat with permits after, or before, this index; -1: none. */
int64_t zr_permits_behind(const struct zr_seats *seats, int64_t index);
int64_t zr_permits_ahead(const struct zr_seats *seats, int64_t index);

/* The data to write so that the limit becomes this one; see resize.c. */
struct zr_capacity zr_capacity_resized(const struct zr_capacity *capacity, int64_t limit);

#endif
