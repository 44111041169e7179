#include <string.h>

#include "recipes/tree/tree.h"

/*
 * Which znodes the copy keeps. A pattern is a path whose names may contain '*', which stands for
 * any bytes of one name, also none. It is compared with a path name by name, from the left:
 *
 *   the path ends first      the znode is on the way to what is wanted: kept
 *   the pattern ends first   the znode is the one that is wanted, or below it: kept
 *   two names differ         not wanted
 *
 * If one pattern wants a znode, it is kept.
 */

/* The next name of a path: its length. Moves *at to its beginning. 0: there is none. */
static size_t next_name(const char **at)
{
    while (**at == '/')
        ++*at;
    return strcspn(*at, "/");
}

/* After a difference the last '*' takes one byte more. */
static bool matches(const char *pattern, size_t pattern_length, const char *name, size_t length)
{
    size_t p = 0, n = 0, star = pattern_length, from = 0;
    while (n < length) {
        if (p < pattern_length && pattern[p] == '*') {
            star = p++;
            from = n;
        } else if (p < pattern_length && pattern[p] == name[n]) {
            p++, n++;
        } else if (star < pattern_length) {
            p = star + 1;
            n = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern_length && pattern[p] == '*')
        p++;
    return p == pattern_length;
}

/* Compares the names of a path with the next ones of the pattern, and moves behind these. False:
   two differ. */
static bool follow(const char **pattern, const char *path)
{
    size_t wanted, length;
    while ((length = next_name(&path)) > 0 && (wanted = next_name(pattern)) > 0) {
        if (!matches(*pattern, wanted, path, length))
            return false;
        *pattern += wanted;
        path += length;
    }
    return true;
}

bool zr_tree_wants(const struct zr_tree_node *parent, const char *name)
{
    const char *filter = parent->tree->filter;
    if (filter == NULL)
        return true;
    for (; *filter != '\0'; filter += strlen(filter) + 1) {
        const char *pattern = filter;
        if (follow(&pattern, parent->in_table.key) && follow(&pattern, name))
            return true;
    }
    return false;
}
