#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/names.h"
#include "lua/binding.h"

/*
 * Reads one value from the user. If it does not fit, the message says where it is: "bad argument #2
 * to 'create' (option 'ttl': seconds expected, got string)". options.c and parts.c read what
 * consists of several values.
 */

#define SECONDS_MAX 1e9

/* ---- Complaints ---------------------------------------------------------------------------- */

size_t zr_lua_enter(struct reader *reader, const char *format, ...)
{
    size_t before = reader->length, room = sizeof(reader->where) - before;
    va_list arguments;
    va_start(arguments, format);
    int more = before > 0 ? snprintf(reader->where + before, room, ", ") : 0;
    before += (size_t)more < room ? (size_t)more : room - 1;
    room = sizeof(reader->where) - before;
    more = vsnprintf(reader->where + before, room, format, arguments);
    va_end(arguments);
    size_t was = reader->length;
    reader->length = before + ((size_t)more < room ? (size_t)more : room - 1);
    return was;
}

void zr_lua_leave(struct reader *reader, size_t length)
{
    reader->length = length;
    reader->where[length] = '\0';
}

int zr_lua_bad(struct reader *reader, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return zr_lua_misuse(reader->L, "bad argument #%d to '%s' (%s%s%s)", reader->argument,
                         reader->method, reader->where, reader->length > 0 ? ": " : "", text);
}

int zr_lua_bad_type(struct reader *reader, int index, const char *expected)
{
    return zr_lua_bad(reader, "%s expected, got %s", expected, luaL_typename(reader->L, index));
}

/* ---- Plain values -------------------------------------------------------------------------- */

static void open_anchors(struct reader *reader)
{
    luaL_checkstack(reader->L, 4, NULL);
    if (!lua_isnil(reader->L, reader->anchors))
        return;
    lua_newtable(reader->L);
    lua_replace(reader->L, reader->anchors);
}

/* Keeps the value on top of the stack, and removes it. */
static void anchor_top(struct reader *reader)
{
    lua_rawseti(reader->L, reader->anchors, (int)lua_rawlen(reader->L, reader->anchors) + 1);
}

void zr_lua_keep(struct reader *reader, int index)
{
    if (index < reader->anchors)
        return;
    open_anchors(reader);
    lua_pushvalue(reader->L, index);
    anchor_top(reader);
}

static struct zr_bytes bytes_at(struct reader *reader, int index)
{
    struct zr_bytes bytes;
    zr_lua_keep(reader, index);
    bytes.at = lua_tolstring(reader->L, index, &bytes.length);
    return bytes;
}

struct zr_bytes zr_lua_read_path(struct reader *reader, int index)
{
    if (lua_type(reader->L, index) != LUA_TSTRING)
        zr_lua_bad_type(reader, index, "path");
    struct zr_bytes path = bytes_at(reader, index);
    const char *problem = zr_path_problem(path.at, path.length);
    if (problem != NULL)
        zr_lua_bad(reader, "path %s, got '%.200s'", problem, path.at);
    return path;
}

struct zr_bytes zr_lua_read_string(struct reader *reader, int index)
{
    if (lua_type(reader->L, index) != LUA_TSTRING)
        zr_lua_bad_type(reader, index, "string");
    struct zr_bytes string = bytes_at(reader, index);
    if (memchr(string.at, '\0', string.length) != NULL)
        zr_lua_bad(reader, "string must not hold a NUL byte");
    return string;
}

struct zr_bytes zr_lua_read_data(struct reader *reader, int index)
{
    if (lua_isnil(reader->L, index))
        return ZR_NO_DATA;
    if (lua_type(reader->L, index) != LUA_TSTRING)
        zr_lua_bad_type(reader, index, "string or nil");
    return bytes_at(reader, index);
}

int64_t zr_lua_read_integer(struct reader *reader, int index, int64_t least, int64_t most)
{
    int64_t value = 0;
    if (lua_type(reader->L, index) != LUA_TNUMBER)
        zr_lua_bad_type(reader, index, "integer");
    lua_Number number = lua_tonumber(reader->L, index);
    if (number != number)
        zr_lua_bad(
            reader,
            "integer expected, got nan"); /* without a sign, which would depend on the machine */
    if (!compat_to_integer(reader->L, index, &value))
        zr_lua_bad(reader, "integer expected, got %.14g", number);
    if (value < least || value > most)
        zr_lua_bad(reader, "integer from %lld to %lld expected, got %lld", (long long)least,
                   (long long)most, (long long)value);
    return value;
}

/* Stat.version wraps around and becomes -1 again, but the server takes -1 for any version. A set
   with it would overwrite whatever is there. */
int32_t zr_lua_read_version(struct reader *reader, int index)
{
    int32_t version = (int32_t)zr_lua_read_integer(reader, index, INT32_MIN, INT32_MAX);
    if (version == ZR_ANY_VERSION)
        zr_lua_bad(reader, "-1 cannot be compared: to ZooKeeper it means any version; "
                           "leave the version out for \"any\"");
    return version;
}

/* Rounds up: a very short time must not become 0. */
int64_t zr_lua_read_seconds(struct reader *reader, int index)
{
    if (lua_type(reader->L, index) != LUA_TNUMBER)
        zr_lua_bad_type(reader, index, "seconds");
    lua_Number seconds = lua_tonumber(reader->L, index);
    if (seconds != seconds)
        zr_lua_bad(reader, "seconds expected, got nan");
    if (seconds < 0)
        zr_lua_bad(reader, "seconds must not be negative, got %.14g", seconds);
    if (seconds > SECONDS_MAX)
        zr_lua_bad(reader, "seconds must be at most %.0f, got %.14g; leave it out for no limit",
                   SECONDS_MAX, seconds);
    return (int64_t)ceil(seconds * 1e6);
}

/* ---- Tables -------------------------------------------------------------------------------- */

void zr_lua_check_plain(struct reader *reader, int index, const char *expected)
{
    static const char *const inherits[] = {"__index", "__pairs", "__len"};
    lua_State *L = reader->L;
    if (!lua_istable(L, index))
        zr_lua_bad_type(reader, index, expected);
    luaL_checkstack(L, 8, NULL);
    if (!lua_getmetatable(L, index))
        return;
    for (size_t i = 0; i < sizeof(inherits) / sizeof(inherits[0]); i++) {
        lua_pushstring(L, inherits[i]);
        lua_rawget(L, -2);
        if (!lua_isnil(L, -1))
            zr_lua_bad(reader,
                       "plain %s expected, got a table whose metatable has %s; copy what it "
                       "inherits into it",
                       expected, inherits[i]);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

void *zr_lua_temporary(struct reader *reader, size_t count, size_t size)
{
    size_t bytes = count > 0 ? count * size : 1;
    open_anchors(reader);
    void *memory = compat_new_userdata(reader->L, bytes);
    memset(memory, 0, bytes);
    anchor_top(reader);
    return memory;
}

const char *zr_lua_key(struct reader *reader)
{
    lua_State *L = reader->L;
    return lua_isstring(L, -1) ? lua_tostring(L, -1) : luaL_typename(L, -1);
}

/* Counts the entries; the key of each must be a number. */
static size_t count_entries(struct reader *reader, int index, const char *expected)
{
    lua_State *L = reader->L;
    size_t count = 0;
    for (lua_pushnil(L); lua_next(L, index) != 0; count++) {
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TNUMBER)
            continue;
        if (lua_rawlen(L, index) == 0)
            zr_lua_bad(reader, "%s expected, got a table that is not a list", expected);
        zr_lua_bad(reader, "%s expected, got a table with '%.100s' beside the list", expected,
                   zr_lua_key(reader));
    }
    return count;
}

/* A length alone would leave out what is behind a hole, or under another key. */
size_t zr_lua_list_length(struct reader *reader, int index, const char *expected)
{
    zr_lua_check_plain(reader, index, expected);
    size_t count = count_entries(reader, index, expected);
    for (size_t i = 1; i <= count; i++) {
        lua_rawgeti(reader->L, index, (int)i);
        if (lua_isnil(reader->L, -1))
            zr_lua_bad(reader, "%s expected, got a table without entry %zu; leave no hole",
                       expected, i);
        lua_pop(reader->L, 1);
    }
    return count;
}
