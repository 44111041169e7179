#include "recipes/count_note.h"

#include <inttypes.h>
#include <stdio.h>

int64_t zr_count_in(const char *text, size_t length)
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

void zr_count_note_write(int32_t count, char note[ZR_COUNT_NOTE])
{
    snprintf(note, ZR_COUNT_NOTE, "%" PRId32 "-", count);
}

int zr_count_note_read(const char *name, size_t length, int64_t *count)
{
    if (length == 0 || name[length - 1] != '-')
        return -1;
    size_t first = length - 1;
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9')
        first--;
    if (first == 0 || name[first - 1] != '-')
        return -1;
    *count = zr_count_in(name + first, length - 1 - first);
    return *count > 0 ? (int)(length - first) : -1;
}
