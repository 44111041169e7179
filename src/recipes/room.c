#include "recipes/room.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * A seat is granted if the permits of all seats up to it, its own included, are at most the limit.
 * What other clients can conclude: as long as the limit only grows, a granted seat fits in every
 * later listing too, because a new seat never comes in ahead of it. If the limit was made smaller,
 * the earlier one is stored for the seats that may have been granted under it, so that this stays
 * true.
 */

/* ---- The data ------------------------------------------------------------------------------ */

/* The number from 1 to 2147483647 in these characters; 0 if they are no such number. */
static int64_t count_in(const char *text, size_t length)
{
    int64_t count = 0;
    if (length == 0 || length > 10 || text[0] == '0')
        return 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return 0;
        count = count * 10 + (text[i] - '0');
    }
    return count <= INT32_MAX ? count : 0;
}

/* The number up to the next blank; moves behind the blank. 0: there is none. */
static int64_t next_count(struct zr_bytes *data)
{
    const char *blank = data->length > 0 ? memchr(data->at, ' ', data->length) : NULL;
    size_t length = blank != NULL ? (size_t)(blank - data->at) : data->length;
    int64_t count = count_in(data->at, length);
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

/* ---- Permits in names ---------------------------------------------------------------------- */

void zr_permits_write(int32_t permits, char note[ZR_PERMITS_NOTE])
{
    snprintf(note, ZR_PERMITS_NOTE, "%" PRId32 "-", permits);
}

/* The end of "<anything>-<permits>-". */
static int read_permits(const char *name, size_t length, int64_t *permits)
{
    if (length == 0 || name[length - 1] != '-')
        return -1;
    size_t first = length - 1;
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9')
        first--;
    if (first == 0 || name[first - 1] != '-')
        return -1;
    *permits = count_in(name + first, length - 1 - first);
    return *permits > 0 ? (int)(length - first) : -1;
}

const struct zr_stem zr_lease_stem = {.text = "lease-", .read_note = read_permits};

int64_t zr_permits(const struct zr_seat_name *seat)
{
    return seat->stem == &zr_lease_stem ? seat->note : 0;
}

/* ---- The seats ----------------------------------------------------------------------------- */

int64_t zr_room_taken(const struct zr_seats *seats, size_t index)
{
    int64_t taken = 0;
    for (size_t i = 0; i < index; i++)
        taken += zr_permits(&seats->at[i]);
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
    while (index < (int64_t)seats->count && zr_permits(&seats->at[index]) == 0);
    return index < (int64_t)seats->count ? index : -1;
}

int64_t zr_room_ahead(const struct zr_seats *seats, int64_t index)
{
    do
        index--;
    while (index >= 0 && zr_permits(&seats->at[index]) == 0);
    return index;
}
