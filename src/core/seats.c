#include "core/seats.h"

#include <stdlib.h>

#include "core/alloc.h"
#include "core/names.h"

/* Equal numbers come from a counter that is used up; such seats are never granted (contend.c). */
static int by_sequence(const void *a, const void *b)
{
    const struct zr_seat_name *one = a, *other = b;
    return (one->sequence > other->sequence) - (one->sequence < other->sequence);
}

/* Puts them in order through a table with room for each number between the first and the last: in a
   queue most of these are there. False: it is not worth it, or memory is exhausted. */
static bool sort_by_table(struct zr_seat_name *at, size_t count)
{
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < count; i++) {
        first = at[i].sequence < first ? at[i].sequence : first;
        last = at[i].sequence > last ? at[i].sequence : last;
    }
    size_t size = (size_t)(last - first + 1);
    struct zr_seat_name *table = size / 4 < count ? zr_alloc(size * sizeof(*table)) : NULL;
    bool unique = table != NULL;
    for (size_t i = 0; unique && i < count; i++) {
        struct zr_seat_name *place = &table[at[i].sequence - first];
        unique = place->name == NULL;
        *place = at[i];
    }
    for (size_t i = 0, next = 0; unique && i < size; i++)
        if (table[i].name != NULL)
            at[next++] = table[i];
    zr_free(table);
    return unique;
}

struct zr_seats *zr_seats_new(const struct zr_recipe *const *recipes, struct zr_names *names)
{
    struct zr_seats *seats = zr_alloc(sizeof(*seats) + names->count * sizeof(seats->at[0]));
    if (seats == NULL)
        return NULL;
    seats->refs = 1;
    seats->names = names;
    for (size_t i = 0; i < names->count; i++) {
        struct zr_seat_name *next = &seats->at[seats->count];
        if (!zr_stem_read(recipes, names->at[i], next))
            seats->foreign = zr_is_foreign(recipes, names->at[i]) ? names->at[i] : seats->foreign;
        else if (next->sequence < ZR_SEQUENCE_LIMIT)
            seats->count++;
    }
    if (seats->count > 1 && !sort_by_table(seats->at, seats->count))
        qsort(seats->at, seats->count, sizeof(seats->at[0]), by_sequence);
    return seats;
}

size_t zr_seats_unusual(const struct zr_recipe *const *recipes, struct zr_seats *seats)
{
    for (size_t i = 0; i < seats->count && !seats->counted; i++)
        seats->unusual += !zr_is_usual(recipes, seats->at[i].name);
    seats->counted = true;
    return seats->unusual;
}

void zr_seats_unref(struct zr_seats *seats)
{
    if (seats == NULL || --seats->refs > 0)
        return;
    zr_free(seats->names);
    zr_free(seats);
}
