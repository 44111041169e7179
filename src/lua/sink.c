#include <inttypes.h>
#include <stdio.h>

#include "lua/binding.h"

/*
 * Turns results into Lua values: on the stack, or as fields and items of the tables that begin and
 * end make. Any of these functions may raise a memory error of Lua.
 */

static struct lua_sink *of(struct zr_sink *sink)
{
    return (struct lua_sink *)sink;
}

static void make_room(struct lua_sink *sink)
{
    luaL_checkstack(sink->L, 6, "too many results");
}

/* Stores the value on top of the stack: as a result, as the next item of the list, or under its
   key. */
static void place(struct lua_sink *sink, const char *key)
{
    lua_State *L = sink->L;
    if (sink->depth == 0) {
        sink->results++;
    } else if (key == NULL) {
        lua_rawseti(L, -2, (int)++sink->count[sink->depth - 1]);
    } else {
        lua_pushstring(L, key);
        lua_insert(L, -2);
        lua_rawset(L, -3);
    }
}

static void put_nothing(struct zr_sink *sink, const char *key)
{
    make_room(of(sink));
    lua_pushnil(of(sink)->L);
    place(of(sink), key);
}

static void put_boolean(struct zr_sink *sink, const char *key, bool value)
{
    make_room(of(sink));
    lua_pushboolean(of(sink)->L, value);
    place(of(sink), key);
}

static void put_integer(struct zr_sink *sink, const char *key, int64_t value)
{
    make_room(of(sink));
    compat_push_integer(of(sink)->L, value);
    place(of(sink), key);
}

static void put_number(struct zr_sink *sink, const char *key, double value)
{
    make_room(of(sink));
    lua_pushnumber(of(sink)->L, value);
    place(of(sink), key);
}

static void put_bytes(struct zr_sink *sink, const char *key, struct zr_bytes value)
{
    make_room(of(sink));
    if (value.at != NULL)
        lua_pushlstring(of(sink)->L, value.at, value.length);
    else
        lua_pushnil(of(sink)->L);
    place(of(sink), key);
}

static void put_id(struct zr_sink *sink, const char *key, int64_t value)
{
    char digits[17];
    make_room(of(sink));
    snprintf(digits, sizeof(digits), "%016" PRIx64, (uint64_t)value);
    lua_pushlstring(of(sink)->L, digits, 16);
    place(of(sink), key);
}

static void put_object(struct zr_sink *sink, const char *key, struct zr_object *value)
{
    make_room(of(sink));
    zr_lua_object_push(of(sink)->L, of(sink)->owner, value);
    place(of(sink), key);
}

static void begin(struct zr_sink *sink, const char *key)
{
    struct lua_sink *to = of(sink);
    if (to->depth == ZR_LUA_DEPTH_MAX)
        luaL_error(to->L, "results nested too deeply");
    make_room(to);
    lua_newtable(to->L);
    to->count[to->depth] = 0;
    to->key[to->depth] = key;
    to->depth++;
}

static void end(struct zr_sink *sink)
{
    struct lua_sink *to = of(sink);
    to->depth--;
    place(to, to->key[to->depth]);
}

void zr_lua_sink_init(struct lua_sink *sink, lua_State *L, int owner)
{
    *sink = (struct lua_sink){
        .sink = {put_nothing, put_boolean, put_integer, put_number, put_bytes, put_id, put_object,
                 begin, end},
        .L = L,
        .owner = owner,
    };
}
