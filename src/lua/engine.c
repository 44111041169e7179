#include <string.h>

#include "lua/binding.h"
#include "recipes/recipes.h"

/* The engine as a userdata; what a host does with it is in host.c. */

const char zr_lua_engine_meta;

/* The engine at stack index 1, in any state. */
static struct lua_engine *check_any(lua_State *L)
{
    bool good = false;
    if (lua_type(L, 1) == LUA_TUSERDATA && lua_getmetatable(L, 1)) {
        compat_registry_get(L, &zr_lua_engine_meta);
        good = lua_rawequal(L, -1, -2);
        lua_pop(L, 2);
    }
    if (!good)
        zr_lua_misuse(L, "engine expected, got %s", luaL_typename(L, 1));
    return lua_touserdata(L, 1);
}

struct lua_engine *zr_lua_engine_check(lua_State *L)
{
    struct lua_engine *engine = check_any(L);
    if (engine->core == NULL)
        zr_lua_misuse(L, "the engine was collected already");
    return engine;
}

struct lua_engine *zr_lua_engine_of(lua_State *L, int owner)
{
    compat_get_associated(L, owner);
    lua_rawgeti(L, -1, 2);
    struct lua_engine *engine = lua_touserdata(L, -1);
    lua_pop(L, 2);
    return engine->core != NULL ? engine : NULL;
}

void zr_lua_engine_new(lua_State *L, enum zr_status (*make)(void *with, struct zr_zk **zk),
                       void *with, int host)
{
    struct zr_zk *zk;
    struct lua_engine *engine = compat_new_userdata(L, sizeof(*engine));
    memset(engine, 0, sizeof(*engine));
    engine->listener = engine->name = -1;
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, host);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, -2);
    lua_rawseti(L, -2, 2);
    compat_set_associated(L, -2);
    compat_registry_get(L, &zr_lua_engine_meta);
    lua_setmetatable(L, -2);
    enum zr_status status = make(with, &zk);
    if (status == ZR_OK)
        status = zr_engine_new(zk, zr_recipes, &engine->core);
    if (status != ZR_OK)
        luaL_error(L, "cannot create an engine: %s", zr_status_text(status));
}

void zr_lua_add_functions(lua_State *L, const luaL_Reg *functions)
{
    for (; functions->name != NULL; functions++) {
        lua_pushcfunction(L, functions->func);
        lua_setfield(L, -2, functions->name);
    }
}
