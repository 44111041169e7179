#include <string.h>

#include "lua/binding.h"

/*
 * Reads what a user passes, by the letters of core/object.h. What does not fit is misuse. It is
 * raised at the user's line and says which value is wrong: "bad argument #2 to 'create' (option
 * 'ttl': seconds expected, got string)".
 *
 * Strings are borrowed from Lua. An argument stays on the stack until the C function returns. What
 * is read out of a table is kept in a table of our own (zr_lua_keep): options are read without
 * metamethods, but each allocation may run a finalizer of the user, which may change the table.
 */

static void *field_of(struct zr_arg *arg, char letter)
{
    return letter == 't' ? (void *)&arg->integer : letter == 'a' ? (void *)&arg->acl : &arg->bytes;
}

static void read_argument(struct reader *reader, int index, char letter, struct zr_arg *arg,
                          const struct zr_option *options, size_t options_size, void *options_at)
{
    switch (letter) {
    case 'i':
        arg->integer = zr_lua_read_integer(reader, index, INT32_MIN, INT32_MAX);
        break;
    case 'w':
        arg->integer = zr_lua_read_integer(reader, index, -COMPAT_EXACT, COMPAT_EXACT);
        break;
    case 'v':
        arg->integer = zr_lua_read_version(reader, index);
        break;
    case 'm':
        arg->parts = zr_lua_read_parts(reader, index, &arg->count);
        break;
    case 'l':
        arg->list = zr_lua_read_strings(reader, index, &arg->count);
        break;
    case 'h':
        arg->objects = zr_lua_read_objects(reader, index, &arg->count);
        break;
    case 'r':
        arg->records = zr_lua_read_records(reader, index, options, options_size, &arg->count);
        break;
    case 'o':
        zr_lua_read_options(reader, index, options, options_at);
        break;
    default:
        zr_lua_read_letter(reader, index, letter, field_of(arg, letter));
    }
}

void zr_lua_args_read(lua_State *L, struct lua_args *into, const char *method, const char *letters,
                      const struct zr_option *options, size_t options_size)
{
    const int first = 2, anchors = first + ZR_ARGS_MAX;
    struct reader reader; /* `where` and absent options need not be cleared */
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
        zr_lua_default_options(options, &into->options);
    }
    for (int i = 0; *letters != '\0'; i++) {
        char letter = *letters++;
        bool optional = *letters == '?';
        letters += optional;
        reader.argument = i + 1;
        if (optional && lua_isnil(L, first + i))
            continue;
        into->args.at[i].given = true;
        read_argument(&reader, first + i, letter, &into->args.at[i], options, options_size,
                      &into->options);
    }
}
