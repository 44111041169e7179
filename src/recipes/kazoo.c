#include "recipes/kazoo.h"

#include <string.h>

#include "core/names.h"

/* The names of kazoo, the ZooKeeper client for Python. Its contenders and ours do not see each
   other. */

static bool has_stem(const char *name, const char *stem)
{
    size_t tag = strspn(name, "0123456789abcdef");
    return tag == 32 && strlen(name + tag) == strlen(stem) + ZR_SEQUENCE_DIGITS &&
           zr_sequence(name, stem) >= 0;
}

bool zr_is_kazoos(const char *name)
{
    return has_stem(name, "__lock__") || has_stem(name, "__rlock__");
}
