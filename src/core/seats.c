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
