#include "recipes/barrier/member.h"

#include <stdlib.h>
#include <string.h>

/*
 * What a round's znode says. Its data are the tags of its members, one a line; its children are the
 * marks of the members that have left and have still to read it. ZooKeeper counts the children that
 * it ever had.
 */

bool zr_is_round(const char *name)
{
    return strncmp(name, "round-", 6) == 0;
}

/* The first tag of the rest, which begins behind it then; false: there is none. */
static bool next_tag(struct zr_bytes *rest, struct zr_bytes *tag)
{
    while (rest->length > 0 && rest->at[0] == '\n')
        *rest = (struct zr_bytes){rest->at + 1, rest->length - 1};
    if (rest->length == 0)
        return false;
    const char *end = memchr(rest->at, '\n', rest->length);
    size_t length = end != NULL ? (size_t)(end - rest->at) : rest->length;
    *tag = (struct zr_bytes){rest->at, length};
    *rest = (struct zr_bytes){rest->at + length, rest->length - length};
    return true;
}

static bool is_tag(struct zr_bytes one, const char *tag)
{
    return one.length == strlen(tag) && memcmp(one.at, tag, one.length) == 0;
}

bool zr_round_has(struct zr_bytes data, const char *tag)
{
    struct zr_bytes one;
    while (next_tag(&data, &one))
        if (is_tag(one, tag))
            return true;
    return false;
}

/* cversion counts the children that were created and those that were deleted. */
static int64_t ever_created(const struct zr_stat *stat)
{
    return ((int64_t)stat->cversion + stat->child_count) / 2;
}

/* For bsearch: the name "m-<tag>". */
static int to_name(const void *key, const void *entry)
{
    const struct zr_bytes *tag = key;
    const char *name = *(char *const *)entry;
    int first = strncmp("m-", name, 2);
    if (first != 0)
        return first;
    size_t length = strlen(name + 2);
    int order = memcmp(tag->at, name + 2, tag->length < length ? tag->length : length);
    return order != 0 ? order : (tag->length > length) - (tag->length < length);
}

static bool is_inside(const struct zr_names *listing, struct zr_bytes tag)
{
    return bsearch(&tag, listing->at, listing->count, sizeof(listing->at[0]), to_name) != NULL;
}

struct zr_roll zr_roll_of(const struct zr_names *listing, struct zr_bytes data,
                          const struct zr_stat *stat, const char *tag)
{
    struct zr_roll roll = {.left = ever_created(stat)};
    struct zr_bytes one;
    bool behind = false, first_is_behind = false; /* the member that asks */
    for (; next_tag(&data, &one); roll.members++) {
        if (is_tag(one, tag)) {
            behind = true;
        } else if (is_inside(listing, one)) {
            if (roll.inside++ == 0 || (behind && !first_is_behind)) {
                roll.first = one;
                first_is_behind = behind;
            }
        }
    }
    return roll;
}
