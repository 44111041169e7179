#include "recipes/semaphore/capacity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "recipes/count_note.h"
#include "recipes/semaphore/mark.h"

/*
 * A seat is granted if the permits of all seats up to it, its own included, are at most the limit.
 * What other clients can conclude: as long as the limit only grows, a granted seat fits in every
 * later listing too, because a new seat never comes in ahead of it. If the limit was made smaller,
 * the earlier one is stored for the seats that may have been granted under it, so that this stays
 * true.
 */

/* ---- The data ------------------------------------------------------------------------------ */

/* The number up to the next blank; moves behind the blank. 0: there is none. */
static int64_t next_count(struct zr_bytes *data)
{
    const char *blank = data->length > 0 ? memchr(data->at, ' ', data->length) : NULL;
    size_t length = blank != NULL ? (size_t)(blank - data->at) : data->length;
    int64_t count = zr_count_in(data->at, length);
    length += blank != NULL;
    *data = (struct zr_bytes){data->at + length, data->length - length};
    return count;
}

bool zr_capacity_read(struct zr_bytes data, struct zr_capacity *capacity)
{
    *capacity = (struct zr_capacity){next_count(&data), 0, ZR_CAPACITY_ALL};
    if (data.length > 0)
        capacity->earlier = next_count(&data);
    if (data.length > 0)
        capacity->until = next_count(&data);
    return capacity->limit > 0;
}

struct zr_bytes zr_capacity_write(const struct zr_capacity *capacity, char *text)
{
    int length = snprintf(text, ZR_CAPACITY_TEXT, "%" PRId64, capacity->limit);
    if (capacity->earlier > 0)
        length += snprintf(text + length, ZR_CAPACITY_TEXT - (size_t)length, " %" PRId64,
                           capacity->earlier);
    if (capacity->earlier > 0 && capacity->until != ZR_CAPACITY_ALL)
        length += snprintf(text + length, ZR_CAPACITY_TEXT - (size_t)length, " %" PRId64,
                           capacity->until);
    return (struct zr_bytes){text, (size_t)length};
}

struct zr_capacity zr_capacity_resized(const struct zr_capacity *capacity, int64_t limit)
{
    int64_t highest = capacity->limit > capacity->earlier ? capacity->limit : capacity->earlier;
    if (limit >= highest)
        return (struct zr_capacity){limit, 0, ZR_CAPACITY_ALL};
    if (limit >= capacity->limit)
        return (struct zr_capacity){limit, capacity->earlier, capacity->until};
    return (struct zr_capacity){limit, highest, ZR_CAPACITY_ALL};
}

/* ---- Permits in names ---------------------------------------------------------------------- */

static bool fits(struct zr_bytes dir_data, int64_t sequence, int64_t taken)
{
    struct zr_capacity capacity;
    zr_capacity_read(dir_data, &capacity);
    return zr_permits_fit(&capacity, sequence, taken);
}

static struct zr_bytes user_data(const struct zr_request *answer)
{
    return zr_mark_user_data(answer->data_reply, answer->stat.czxid);
}

/* Nobody but its owner writes a seat's node, and only to mark it. */
static int64_t read_word(const struct zr_request *answer)
{
    return answer->stat.version > 0 ? ZR_SAYS_MARKED(answer->stat.version) : 0;
}

static const struct zr_meaning permits = {.fits = fits, .user_data = user_data};

const struct zr_stem zr_permits_stem = {
    .text = "lease-", .read_note = zr_count_note_read, .read_word = read_word, .meaning = &permits};

int64_t zr_permits(const struct zr_seat_name *seat)
{
    return seat->stem == &zr_permits_stem ? seat->note : 0;
}

/* ---- The seats ----------------------------------------------------------------------------- */

int64_t zr_permits_taken(const struct zr_seats *seats, size_t index)
{
    int64_t taken = 0;
    for (size_t i = 0; i < index; i++)
        taken += zr_permits(&seats->at[i]);
    return taken;
}

bool zr_permits_fit(const struct zr_capacity *capacity, int64_t sequence, int64_t taken)
{
    int64_t limit = capacity->limit;
    if (capacity->earlier > limit && sequence <= capacity->until)
        limit = capacity->earlier;
    return taken <= limit;
}

bool zr_permits_may_hold(const struct zr_capacity *capacity, const struct zr_seats *seats,
                         int64_t index)
{
    return index < 0 || zr_permits_fit(capacity, seats->at[index].sequence,
                                       zr_permits_taken(seats, (size_t)index + 1));
}

int64_t zr_permits_behind(const struct zr_seats *seats, int64_t index)
{
    do
        index++;
    while (index < (int64_t)seats->count && zr_permits(&seats->at[index]) == 0);
    return index < (int64_t)seats->count ? index : -1;
}

int64_t zr_permits_ahead(const struct zr_seats *seats, int64_t index)
{
    do
        index--;
    while (index >= 0 && zr_permits(&seats->at[index]) == 0);
    return index;
}
