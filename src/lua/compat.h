#ifndef ZR_LUA_COMPAT_H
#define ZR_LUA_COMPAT_H

/*
 * compat.h: the differences between Lua 5.1, LuaJIT, 5.3 and 5.4. For 5.1 it uses only what PUC Lua
 * 5.1 has, even when compiled with LuaJIT's headers, so that one module serves both.
 */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <lauxlib.h>
#include <lua.h>

#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#endif

/* Makes a userdata that can have one associated table. */
static inline void *compat_new_userdata(lua_State *L, size_t size)
{
#if LUA_VERSION_NUM >= 504
    return lua_newuserdatauv(L, size, 1);
#else
    return lua_newuserdata(L, size);
#endif
}

/* Pops a table and associates it with the userdata at `index`. */
static inline void compat_set_associated(lua_State *L, int index)
{
#if LUA_VERSION_NUM >= 504
    lua_setiuservalue(L, index, 1);
#elif LUA_VERSION_NUM >= 502
    lua_setuservalue(L, index);
#else
    lua_setfenv(L, index);
#endif
}

/* Pushes the table that is associated with the userdata at `index`. */
static inline void compat_get_associated(lua_State *L, int index)
{
#if LUA_VERSION_NUM >= 504
    lua_getiuservalue(L, index, 1);
#elif LUA_VERSION_NUM >= 502
    lua_getuservalue(L, index);
#else
    lua_getfenv(L, index);
#endif
}

/* Weak, because LuaJIT has it and PUC Lua 5.1 has not. */
#if LUA_VERSION_NUM < 502
LUA_API int lua_isyieldable(lua_State *L);
#pragma weak lua_isyieldable
#endif

static inline bool compat_is_yieldable(lua_State *L)
{
#if LUA_VERSION_NUM < 502
    if (lua_isyieldable == NULL)
        return true;
#endif
    return lua_isyieldable(L);
}

/* Doubles represent every integer up to this number. */
#define COMPAT_EXACT (INT64_C(1) << 53)

/* Pushes an integer if the language has them, otherwise a number. */
static inline void compat_push_integer(lua_State *L, int64_t value)
{
#if LUA_VERSION_NUM >= 503
    lua_pushinteger(L, value);
#else
    lua_pushnumber(L, (lua_Number)value);
#endif
}

/* Reads the number at `index`, if its value is an integer. */
static inline bool compat_to_integer(lua_State *L, int index, int64_t *value)
{
#if LUA_VERSION_NUM >= 503
    if (lua_isinteger(L, index)) {
        *value = lua_tointeger(L, index);
        return true;
    }
#endif
    lua_Number number = lua_tonumber(L, index);
    if (!(number >= (lua_Number)-COMPAT_EXACT && number <= (lua_Number)COMPAT_EXACT) ||
        floor(number) != number)
        return false;
    *value = (int64_t)number;
    return true;
}

/* Pushes registry[key]; 5.1 has no lua_rawgetp. */
static inline void compat_registry_get(lua_State *L, const void *key)
{
    lua_pushlightuserdata(L, (void *)key);
    lua_rawget(L, LUA_REGISTRYINDEX);
}

/* Pops a value and stores it as registry[key]. */
static inline void compat_registry_set(lua_State *L, const void *key)
{
    lua_pushlightuserdata(L, (void *)key);
    lua_insert(L, -2);
    lua_rawset(L, LUA_REGISTRYINDEX);
}

#endif
