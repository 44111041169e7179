/*
 * Paths: zr_path_problem must agree with ZooKeeper's server. The model below is the server's
 * PathUtils.validatePath, over the UTF-16 to which Java decodes the bytes. Only text that is not
 * valid UTF-8 is refused by us alone, because the server would take it for another name.
 *
 * The input is two paths with a newline between. They are joined, as a namespace and a path, and as
 * a directory and a name.
 */
#include "core/names.h"
#include "fuzz.h"

#define MOST 4096

/* ---- A decoder of UTF-8 by the table of the Unicode Standard (3-7)
 * -------------------------------------- */

struct units {
    size_t count;
    uint16_t at[MOST];
    bool malformed;
};

static bool between(uint8_t byte, uint8_t least, uint8_t most)
{
    return byte >= least && byte <= most;
}

/* The length of the well-formed sequence at `at`; 0 if there is none. */
static size_t well_formed(const uint8_t *at, size_t left)
{
    if (at[0] <= 0x7f)
        return 1;
    if (between(at[0], 0xc2, 0xdf))
        return left >= 2 && between(at[1], 0x80, 0xbf) ? 2 : 0;
    if (between(at[0], 0xe0, 0xef)) {
        uint8_t least = at[0] == 0xe0 ? 0xa0 : 0x80, most = at[0] == 0xed ? 0x9f : 0xbf;
        return left >= 3 && between(at[1], least, most) && between(at[2], 0x80, 0xbf) ? 3 : 0;
    }
    if (between(at[0], 0xf0, 0xf4)) {
        uint8_t least = at[0] == 0xf0 ? 0x90 : 0x80, most = at[0] == 0xf4 ? 0x8f : 0xbf;
        return left >= 4 && between(at[1], least, most) && between(at[2], 0x80, 0xbf) &&
                       between(at[3], 0x80, 0xbf)
                   ? 4
                   : 0;
    }
    return 0;
}

static void decode(struct units *units, const uint8_t *at, size_t size)
{
    static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    for (size_t i = 0; i < size && !units->malformed;) {
        size_t length = well_formed(at + i, size - i);
        uint32_t code = length > 0 ? at[i] & masks[length] : 0;
        for (size_t j = 1; j < length; j++)
            code = code << 6 | (at[i + j] & 0x3f);
        units->malformed = length == 0;
        if (code >= 0x10000) {
            units->at[units->count++] = (uint16_t)(0xd800 + ((code - 0x10000) >> 10));
            code = 0xdc00 + (code & 0x3ff);
        }
        units->at[units->count++] = (uint16_t)code;
        i += length;
    }
}

/* ---- The server's validatePath, line by line
 * ------------------------------------------------------------- */

static bool refused_character(uint16_t c)
{
    return (c > 0x0000 && c <= 0x001f) || (c >= 0x007f && c <= 0x009f) ||
           (c >= 0xd800 && c <= 0xf8ff) || (c >= 0xfff0);
}

static bool server_takes(const uint16_t *c, size_t length)
{
    if (length == 0 || c[0] != '/')
        return false;
    if (length == 1)
        return true;
    if (c[length - 1] == '/')
        return false;
    for (size_t i = 1; i < length; i++) {
        bool ends = i + 1 == length || c[i + 1] == '/';
        if (c[i] == 0 || (c[i] == '/' && c[i - 1] == '/'))
            return false;
        if (c[i] == '.' && ends && (c[i - 1] == '/' || (c[i - 1] == '.' && c[i - 2] == '/')))
            return false;
        if (refused_character(c[i]))
            return false;
    }
    return true;
}

static bool good(const char *path, size_t length)
{
    return zr_path_problem(path, length) == NULL;
}

static void check_path(const char *path, size_t length)
{
    static struct units units;
    units.count = 0;
    units.malformed = false;
    decode(&units, (const uint8_t *)path, length);
    CLAIM(good(path, length) == (!units.malformed && server_takes(units.at, units.count)));
}

/* ---- Joining
 * --------------------------------------------------------------------------------------------- */

static void check_join(const char *prefix, const char *path)
{
    bool root = strcmp(prefix, "/") == 0;
    char *joined = zr_path_join(root ? "" : prefix, path);
    CLAIM(good(joined, strlen(joined)));
    CLAIM(strncmp(joined, prefix, strlen(prefix)) == 0);
    CLAIM(strlen(joined) ==
          (root ? 0 : strlen(prefix)) + (path[1] == '\0' && !root ? 0 : strlen(path)));
    zr_free(joined);
}

static void check_child(const char *dir, const char *name)
{
    char *child = zr_path_child(dir, name);
    CLAIM(good(child, strlen(child)));
    size_t length = zr_path_parent_length(child);
    CLAIM(length == strlen(dir) && memcmp(child, dir, length) == 0);
    CLAIM(strcmp(child + strlen(child) - strlen(name), name) == 0);
    zr_free(child);
}

static void check_parents(char *path)
{
    while (strcmp(path, "/") != 0) {
        size_t length = zr_path_parent_length(path);
        CLAIM(length > 0 && length < strlen(path) && good(path, length));
        path[length] = '\0';
    }
    CLAIM(zr_path_parent_length(path) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > MOST)
        return 0;
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t first = newline != NULL ? (size_t)(newline - data) : size;
    size_t second = newline != NULL ? size - first - 1 : 0;
    char *one = text_of(data, first), *other = text_of(data + size - second, second);
    check_path(one, first);
    check_path(other, second);
    if (good(one, first) && good(other, second)) {
        check_join(one, other);
        if (second > 1 && strchr(other + 1, '/') == NULL)
            check_child(one, other + 1);
        check_parents(other);
    }
    free(one);
    free(other);
    CLAIM(zr_alloc_blocks() == 0);
    return 0;
}
