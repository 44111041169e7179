#include "recipes/room.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/names.h"

/*
 * A seat is granted when the permits of all seats up to it, its own included, are at most the
 * limit. What others know of it: as long as the limit only grows, a seat that was granted fits
 * in every later listing too, since nobody ever comes in ahead of it. A limit that was made
 * smaller is remembered for those who may have been granted before, so that this stays true.
 */

/* ---- The data ------------------------------------------------------------------------------ */

/* The count up to the next blank, and moves behind that; 0: there is none. */
static int64_t next_count(struct zr_bytes *data)
{
    const char *blank = data->length > 0 ? memchr(data->at, ' ', data->length) : NULL;
    size_t length = blank != NULL ? (size_t)(blank - data->at) : data->length;
    int64_t count = zr_count(data->at, length);
    length += blank != NULL;
    *data = (struct zr_bytes){data->at + length, data->length - length};
    return count;
}

bool zr_room_read(struct zr_bytes data, struct zr_room *room)
{
    *room = (struct zr_room){next_count(&data), 0, ZR_ROOM_ALL};
    if (data.length > 0)
        room->earlier = next_count(&data);
    if (data.length > 0)
        room->until = next_count(&data);
    return room->limit > 0;
}

struct zr_bytes zr_room_write(const struct zr_room *room, char *text)
{
    int length = snprintf(text, ZR_ROOM_TEXT, "%" PRId64, room->limit);
    if (room->earlier > 0)
        length +=
            snprintf(text + length, ZR_ROOM_TEXT - (size_t)length, " %" PRId64, room->earlier);
    if (room->earlier > 0 && room->until != ZR_ROOM_ALL)
        length += snprintf(text + length, ZR_ROOM_TEXT - (size_t)length, " %" PRId64, room->until);
    return (struct zr_bytes){text, (size_t)length};
}

struct zr_room zr_room_resized(const struct zr_room *room, int64_t limit)
{
    int64_t highest = room->limit > room->earlier ? room->limit : room->earlier;
    if (limit >= highest)
        return (struct zr_room){limit, 0, ZR_ROOM_ALL};
    if (limit >= room->limit)
        return (struct zr_room){limit, room->earlier, room->until};
    return (struct zr_room){limit, highest, ZR_ROOM_ALL};
}

/* ---- The seats ----------------------------------------------------------------------------- */

int64_t zr_room_taken(const struct zr_seats *seats, size_t index)
{
    int64_t taken = 0;
    for (size_t i = 0; i < index; i++)
        taken += seats->at[i].permits;
    return taken;
}

bool zr_room_may_hold(const struct zr_room *room, const struct zr_seats *seats, size_t index)
{
    int64_t limit = room->limit;
    if (room->earlier > limit && seats->at[index].sequence <= room->until)
        limit = room->earlier;
    return zr_room_taken(seats, index + 1) <= limit;
}

int64_t zr_room_behind(const struct zr_seats *seats, int64_t index)
{
    do
        index++;
    while (index < (int64_t)seats->count && seats->at[index].permits == 0);
    return index < (int64_t)seats->count ? index : -1;
}

int64_t zr_room_ahead(const struct zr_seats *seats, int64_t index)
{
    do
        index--;
    while (index >= 0 && seats->at[index].permits == 0);
    return index;
}
