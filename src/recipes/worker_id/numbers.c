#include "recipes/worker_id/worker_id.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"

/*
 * A number is taken if there is a znode with its name, of any client: the holder's, a lost
 * session's that still stands, or a stranger's. Only decimal digits without a zero in front are a
 * number. So other znodes in the directory do no harm.
 *
 * Another attempt of the same session may have asked for a number whose znode is not there yet. We
 * may not ask for it as well (core/seat.h), nor wait as if it were taken: that attempt may give up
 * before its znode is made, and then no event comes.
 */

int64_t zr_number_read(const char *name)
{
    int64_t number = 0;
    if (name[0] == '0')
        return name[1] == '\0' ? 0 : -1;
    for (const char *at = name; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || at - name == 10)
            return -1;
        number = number * 10 + (*at - '0');
    }
    return name[0] != '\0' && number <= INT32_MAX ? number : -1;
}

/* gives: for each number below `size` whether it is taken; null: no memory. */
static bool *mark_taken(const struct zr_names *names, size_t size)
{
    bool *taken = zr_alloc(size);
    for (size_t i = 0; taken != NULL && names != NULL && i < names->count; i++) {
        int64_t number = zr_number_read(names->at[i]);
        if (number >= 0 && (size_t)number < size)
            taken[number] = true;
    }
    return taken;
}

#define LONGEST "-2147483648"

/* gives: a path with room for the name of any number; null: no memory. */
static char *path_new(const char *dir)
{
    return zr_path_child(dir, LONGEST);
}

static void path_set(char *path, int32_t number)
{
    snprintf(strrchr(path, '/') + 1, sizeof(LONGEST), "%" PRId32, number);
}

/* takes: path. */
static void choose(struct zr_worker_attempt *attempt, char *path)
{
    struct zr_seat *seat = &attempt->hold.seat;
    struct zr_bytes data = seat->data;
    zr_seat_fini(seat);
    zr_free(attempt->number);
    attempt->number = path;
    zr_seat_init(seat, attempt->hold.session, path, NULL, data);
}

/* Tries the numbers that are not marked, in order; one path serves for all. */
static enum zr_status first_free(struct zr_worker_attempt *attempt, const bool *taken, size_t size,
                                 enum zr_numbers *found)
{
    const struct zr_worker_id *ids = (const struct zr_worker_id *)attempt->hold.owner;
    char *path = path_new(ids->contest.dir);
    if (path == NULL)
        return ZR_NO_MEMORY;
    *found = ZR_NUMBERS_TAKEN;
    for (int32_t number = 0; number < ids->max; number++) {
        if ((size_t)number < size && taken[number])
            continue;
        path_set(path, number);
        if (zr_seat_find(attempt->hold.session, path) == NULL) {
            choose(attempt, path);
            *found = ZR_NUMBER_FREE;
            return ZR_OK;
        }
        *found = ZR_NUMBER_CLAIMED;
    }
    zr_free(path);
    return ZR_OK;
}

enum zr_status zr_number_choose(struct zr_worker_attempt *attempt, const struct zr_names *names,
                                enum zr_numbers *found)
{
    size_t size = 1 + (names != NULL ? names->count : 0);
    bool *taken = mark_taken(names, size);
    if (taken == NULL)
        return ZR_NO_MEMORY;
    enum zr_status status = first_free(attempt, taken, size, found);
    zr_free(taken);
    return status;
}
