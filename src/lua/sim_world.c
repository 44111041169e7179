#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "lua/sim_world.h"

/*
 * What the files of the simulator's binding share: a world's text, and arguments.
 *
 * The trace is written into a buffer, which the Lua layer empties: no Lua runs inside the world.
 *
 * What can go wrong: memory is exhausted; then the line is lost.
 */

const char zr_lua_world_meta;

/* ---- Text ----------------------------------------------------------------------------------- */

static bool make_room(struct lua_world *world, size_t more)
{
    size_t room = world->room > 0 ? world->room : 4096;
    while (room < world->length + more)
        room *= 2;
    if (room == world->room)
        return true;
    char *text = zr_alloc(room);
    if (text == NULL)
        return false;
    if (world->length > 0)
        memcpy(text, world->text, world->length);
    zr_free(world->text);
    world->text = text;
    world->room = room;
    return true;
}

static ssize_t write_text(void *with, const char *from, size_t length)
{
    struct lua_world *world = with;
    if (make_room(world, length)) {
        memcpy(world->text + world->length, from, length);
        world->length += length;
    }
    return (ssize_t)length;
}

FILE *zr_lua_world_open_text(struct lua_world *world)
{
    return fopencookie(world, "w", (cookie_io_functions_t){.write = write_text});
}

void zr_lua_world_push_text(lua_State *L, struct lua_world *world)
{
    fflush(world->file);
    if (world->length > 0)
        lua_pushlstring(L, world->text, world->length);
    else
        lua_pushnil(L);
    world->length = 0;
}

/* ---- What is passed ------------------------------------------------------------------------- */

struct lua_world *zr_lua_world_check(lua_State *L)
{
    bool good = false;
    if (lua_type(L, 1) == LUA_TUSERDATA && lua_getmetatable(L, 1)) {
        compat_registry_get(L, &zr_lua_world_meta);
        good = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    struct lua_world *world = good ? lua_touserdata(L, 1) : NULL;
    if (world == NULL || world->world == NULL)
        zr_lua_misuse(L, "world expected, got %s", luaL_typename(L, 1));
    return world;
}

struct zr_zk *zr_lua_world_process(lua_State *L, int index)
{
    if (lua_isnoneornil(L, index))
        return NULL;
    luaL_checktype(L, index, LUA_TUSERDATA);
    struct lua_engine *engine = zr_lua_engine_of(L, index);
    if (engine == NULL)
        zr_lua_misuse(L, "the process was collected already");
    return engine->core->zk;
}

/* A difference of two clock readings may be slightly wrong, but a wait must not become 0. */
int64_t zr_lua_world_us(lua_State *L, int index)
{
    double us = luaL_optnumber(L, index, 0) * 1e6;
    return us > 0 && us < 1 ? 1 : (int64_t)ceil(us - 0.01);
}

int64_t zr_lua_world_session(lua_State *L, int index)
{
    const char *digits = luaL_optstring(L, index, "0");
    return (int64_t)strtoull(digits, NULL, 16);
}
