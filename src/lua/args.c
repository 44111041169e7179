#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/names.h"
#include "lua/binding.h"

/*
 * What a user passes, read by the letters of core/object.h. Whatever does not fit is misuse and
 * is raised at his line, with the place in words: "bad argument #2 to 'create' (option 'ttl':
 * seconds expected, got string)".
 *
 * Strings are borrowed from Lua: they are kept alive by the arguments themselves, which are on
 * the stack until the C function returns. Options are read without metamethods, so that no code
 * of the user's runs in between.
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

static struct zr_bytes bytes_at(struct reader *reader, int index)
{
    struct zr_bytes bytes;
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
        zr_lua_bad(reader, "integer expected, got nan"); /* its sign would depend on the machine */
    if (!compat_to_integer(reader->L, index, &value))
        zr_lua_bad(reader, "integer expected, got %.14g", number);
    if (value < least || value > most)
        zr_lua_bad(reader, "integer from %lld to %lld expected, got %lld", (long long)least,
                   (long long)most, (long long)value);
    return value;
}

/* Stat.version wraps around and then is -1, which to the server is no version but "any": a compare
   and set would overwrite whatever is there. */
int32_t zr_lua_read_version(struct reader *reader, int index)
{
    int32_t version = (int32_t)zr_lua_read_integer(reader, index, INT32_MIN, INT32_MAX);
    if (version == ZR_ANY_VERSION)
        zr_lua_bad(reader, "no version can be compared with -1, to ZooKeeper it stands for any; "
                           "leave the version out for \"any\"");
    return version;
}

/* Rounded up: a very short time is not the same as none. */
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

/* ---- Options ------------------------------------------------------------------------------- */

static void read_option(struct reader *reader, int index, const struct zr_option *option,
                        void *field)
{
    switch (option->type) {
    case 'b':
        if (!lua_isboolean(reader->L, index))
            zr_lua_bad_type(reader, index, "boolean");
        *(bool *)field = lua_toboolean(reader->L, index);
        break;
    case 'n':
        if (!lua_isboolean(reader->L, index))
            zr_lua_bad_type(reader, index, "boolean");
        *(bool *)field = !lua_toboolean(reader->L, index);
        break;
    case 'i':
        *(int64_t *)field = zr_lua_read_integer(reader, index, -COMPAT_EXACT, COMPAT_EXACT);
        break;
    case 't':
        *(int64_t *)field = zr_lua_read_seconds(reader, index);
        break;
    case 'p':
        *(struct zr_bytes *)field = zr_lua_read_path(reader, index);
        break;
    case 's':
        *(struct zr_bytes *)field = zr_lua_read_string(reader, index);
        break;
    case 'd':
        *(struct zr_bytes *)field = zr_lua_read_data(reader, index);
        break;
    case 'a':
        *(struct zr_acls *)field = zr_lua_read_acl(reader, index);
        break;
    case 'l':
        *(struct zr_auths *)field = zr_lua_read_auths(reader, index);
        break;
    case 'r': /* only in the binding: permissions, an int32_t */
        *(int32_t *)field = zr_lua_read_perms(reader, index);
        break;
    default:
        luaL_error(reader->L, "the binding knows no options of type '%c'", option->type);
    }
}

static bool is_known(const struct zr_option *options, const char *name)
{
    for (; options->name != NULL; options++)
        if (strcmp(options->name, name) == 0)
            return true;
    return false;
}

static void unknown_option(struct reader *reader, const struct zr_option *options)
{
    char known[256] = "";
    size_t length = 0;
    for (; options->name != NULL && length < sizeof(known); options++)
        length += (size_t)snprintf(known + length, sizeof(known) - length, "%s%s",
                                   length > 0 ? ", " : "", options->name);
    if (lua_type(reader->L, -1) == LUA_TSTRING)
        zr_lua_bad(reader, "unknown option '%.100s'; there are: %s", lua_tostring(reader->L, -1),
                   known);
    zr_lua_bad(reader, "the names of options are strings, got a %s; there are: %s",
               luaL_typename(reader->L, -1), known);
}

static void check_names(struct reader *reader, int index, const struct zr_option *options)
{
    lua_State *L = reader->L;
    lua_pushnil(L);
    while (lua_next(L, index) != 0) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING || !is_known(options, lua_tostring(L, -1)))
            unknown_option(reader, options);
    }
}

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

void zr_lua_read_options(struct reader *reader, int index, const struct zr_option *options,
                         void *into)
{
    lua_State *L = reader->L;
    zr_lua_check_plain(reader, index, "table of options");
    check_names(reader, index, options);
    for (; options->name != NULL; options++) {
        void *field = (char *)into + options->offset;
        lua_pushstring(L, options->name);
        lua_rawget(L, index);
        if (!lua_isnil(L, -1)) {
            size_t before = zr_lua_enter(reader, "option '%s'", options->name);
            read_option(reader, lua_gettop(L), options, field);
            zr_lua_leave(reader, before);
        }
        lua_pop(L, 1);
    }
}

/* What options are when they are left out. */
static void set_defaults(const struct zr_option *options, void *into)
{
    for (; options->name != NULL; options++)
        if (options->type == 't')
            *(int64_t *)((char *)into + options->offset) = -1;
}

/* ---- Arguments ----------------------------------------------------------------------------- */

static void read_argument(struct reader *reader, int index, char letter, struct zr_arg *arg,
                          const struct zr_option *options, void *options_at)
{
    switch (letter) {
    case 'p':
        arg->bytes = zr_lua_read_path(reader, index);
        break;
    case 's':
        arg->bytes = zr_lua_read_string(reader, index);
        break;
    case 'd':
        arg->bytes = zr_lua_read_data(reader, index);
        break;
    case 'i':
        arg->integer = zr_lua_read_integer(reader, index, INT32_MIN, INT32_MAX);
        break;
    case 'v':
        arg->integer = zr_lua_read_version(reader, index);
        break;
    case 't':
        arg->integer = zr_lua_read_seconds(reader, index);
        break;
    case 'a':
        arg->acl = zr_lua_read_acl(reader, index);
        break;
    case 'm':
        arg->parts = zr_lua_read_parts(reader, index, &arg->part_count);
        break;
    case 'o':
        zr_lua_read_options(reader, index, options, options_at);
        break;
    default:
        luaL_error(reader->L, "the binding knows no arguments of type '%c'", letter);
    }
}

void zr_lua_args_read(lua_State *L, struct lua_args *into, const char *method, const char *letters,
                      const struct zr_option *options)
{
    const int first = 2, anchors = first + ZR_ARGS_MAX;
    struct reader reader; /* `where` need not be cleared, nor options that there are not */
    reader.L = L;
    reader.method = method;
    reader.anchors = anchors;
    zr_lua_leave(&reader, 0);
    lua_settop(L, anchors - 1);
    lua_pushnil(L);
    memset(&into->args, 0, sizeof(into->args));
    into->args.options = &into->options;
    if (options != NULL) {
        memset(&into->options, 0, sizeof(into->options));
        set_defaults(options, &into->options);
    }
    for (int i = 0; *letters != '\0'; i++) {
        char letter = *letters++;
        bool optional = *letters == '?';
        letters += optional;
        reader.argument = i + 1;
        if (optional && lua_isnil(L, first + i))
            continue;
        into->args.at[i].given = true;
        read_argument(&reader, first + i, letter, &into->args.at[i], options, &into->options);
    }
}
