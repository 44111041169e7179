#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lua/binding.h"

/*
 * Misuse is raised where the user can mend it: at the innermost line that is not part of this
 * library. The modules of the Lua layer register their sources (own), so that the position is right
 * at any depth. For example, `lock:with(fn)` calls `lock:acquire()`, which calls C.
 */

static const char own_key;

static void push_own(lua_State *L)
{
    compat_registry_get(L, &own_key);
    if (!lua_isnil(L, -1))
        return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    compat_registry_set(L, &own_key);
}

int zr_lua_own(lua_State *L)
{
    luaL_checkstring(L, 1);
    push_own(L);
    lua_pushvalue(L, 1);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    return 0;
}

static bool is_own(lua_State *L, int own, const char *source)
{
    lua_pushstring(L, source);
    lua_rawget(L, own);
    bool found = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return found;
}

/* Pushes "file.lua:12: ", or "" if no line of the user is on this coroutine's stack. */
static void push_position(lua_State *L)
{
    push_own(L);
    int own = lua_gettop(L);
    lua_Debug frame;
    for (int level = 1; lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "Sl", &frame);
        if (frame.currentline <= 0 || is_own(L, own, frame.source))
            continue;
        lua_pushfstring(L, "%s:%d: ", frame.short_src, frame.currentline);
        lua_replace(L, own);
        return;
    }
    lua_pushliteral(L, "");
    lua_replace(L, own);
}

int zr_lua_misuse(lua_State *L, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    luaL_checkstack(L, 8, NULL);
    push_position(L);
    lua_pushstring(L, text);
    lua_concat(L, 2);
    return lua_error(L);
}

int zr_lua_raise(lua_State *L)
{
    return zr_lua_misuse(L, "%s", luaL_checkstring(L, 1));
}

/* ---- Finalizers ----------------------------------------------------------------------------- */

int zr_lua_finalizes(lua_State *L)
{
    bool found = false;
    lua_Debug frame;
    for (int level = 1; !found && lua_getstack(L, level, &frame); level++) {
        lua_getinfo(L, "n", &frame);
        found = strcmp(frame.namewhat, "metamethod") == 0 && strcmp(frame.name, "__gc") == 0;
    }
    lua_pushboolean(L, found);
    return 1;
}
