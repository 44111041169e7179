#include "core/mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"

/* "__SHARED__<16 hexadecimal digits>", and, unless the user's data are null, ':' and they. */

#define WORD "__SHARED__"
#define LENGTH (sizeof(WORD) - 1 + 16)

static void write_mark(char *to, int64_t czxid)
{
    snprintf(to, LENGTH + 1, WORD "%016" PRIx64, (uint64_t)czxid);
}

struct zr_bytes zr_mark_data(struct zr_bytes data, int64_t czxid)
{
    size_t length = LENGTH + (data.at != NULL ? 1 + data.length : 0);
    char *marked = zr_alloc(length + 1);
    if (marked == NULL)
        return (struct zr_bytes){NULL, 0};
    write_mark(marked, czxid);
    if (data.at != NULL) {
        marked[LENGTH] = ':';
        memcpy(marked + LENGTH + 1, data.at, data.length);
    }
    return (struct zr_bytes){marked, length};
}

bool zr_marked(struct zr_bytes data, int64_t czxid)
{
    char mark[LENGTH + 1];
    if (data.at == NULL || data.length < LENGTH)
        return false;
    write_mark(mark, czxid);
    return memcmp(data.at, mark, LENGTH) == 0 && (data.length == LENGTH || data.at[LENGTH] == ':');
}

struct zr_bytes zr_unmarked(struct zr_bytes data, int64_t czxid)
{
    if (!zr_marked(data, czxid))
        return data;
    if (data.length == LENGTH)
        return (struct zr_bytes){NULL, 0};
    return (struct zr_bytes){data.at + LENGTH + 1, data.length - LENGTH - 1};
}

/* ---- Successors ---------------------------------------------------------------------------- */

/* "\0next-<ten digits>" */

#define NEXT "\0next-"
#define NEXT_LENGTH (sizeof(NEXT) - 1 + 10)

int64_t zr_successor_in(struct zr_bytes data)
{
    char number[11] = "";
    if (data.at == NULL || data.length < NEXT_LENGTH)
        return -1;
    const char *mark = data.at + data.length - NEXT_LENGTH;
    if (memcmp(mark, NEXT, sizeof(NEXT) - 1) != 0)
        return -1;
    memcpy(number, mark + sizeof(NEXT) - 1, sizeof(number) - 1);
    return zr_sequence(number, "");
}

struct zr_bytes zr_without_successor(struct zr_bytes data)
{
    if (zr_successor_in(data) >= 0)
        data.length -= NEXT_LENGTH;
    return data;
}
