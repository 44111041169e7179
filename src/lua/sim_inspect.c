#include "lua/sim_world.h"

#include <string.h>

/*
 * What the Lua layer inspects in a world: the leader's znodes, and counts of requests, watches and
 * sessions. Visitors push Lua values, whose errors jump out of the walk, so the walk owns nothing.
 */

/* world:requests(process or nil, kind) */
static int world_requests(lua_State *L)
{
    const struct lua_world *world = zr_lua_world_check(L);
    const struct zr_zk *zk = zr_lua_world_process(L, 2);
    int kind = (int)luaL_checkinteger(L, 3);
    int64_t count =
        zk != NULL ? zr_sim_requests(zk, kind) : zr_sim_all_requests(world->world, kind);
    compat_push_integer(L, count);
    return 1;
}

static int world_watches(lua_State *L)
{
    compat_push_integer(L, (int64_t)zr_sim_watch_count(zr_lua_world_check(L)->world));
    return 1;
}

static int world_sessions(lua_State *L)
{
    compat_push_integer(L, (int64_t)zr_sim_session_count(zr_lua_world_check(L)->world));
    return 1;
}

/* world:alive(session) */
static int world_alive(lua_State *L)
{
    const struct lua_world *world = zr_lua_world_check(L);
    lua_pushboolean(L, zr_sim_session_alive(world->world, zr_lua_world_session(L, 2)));
    return 1;
}

/* ---- The tree ------------------------------------------------------------------------------- */

struct look {
    lua_State *L;
    const char *path;
    int pushed;
};

static void push_data(void *with, const struct zr_sim_view *view)
{
    struct look *look = with;
    if (look->pushed++ > 0)
        return;
    if (view->data.at != NULL)
        lua_pushlstring(look->L, view->data.at, view->data.length);
    else
        lua_pushnil(look->L);
}

/* world:get(path): true, data, stat; or false */
static int world_get(lua_State *L)
{
    const struct lua_world *world = zr_lua_world_check(L);
    struct look look = {.L = L, .path = luaL_checkstring(L, 2)};
    struct zr_stat stat;
    struct lua_sink sink;
    bool found = zr_sim_stat(world->world, look.path, &stat);
    lua_pushboolean(L, found);
    if (!found)
        return 1;
    zr_sim_walk(world->world, look.path, push_data, &look);
    zr_lua_sink_init(&sink, L, 1);
    zr_emit_stat(&sink.sink, NULL, &stat);
    return 3;
}

/* The name of the znode if it is a child of this path, otherwise null. */
static const char *child_name(const char *parent, const char *path)
{
    size_t length = strcmp(parent, "/") == 0 ? 0 : strlen(parent);
    if (strlen(path) <= length + 1 || path[length] != '/')
        return NULL;
    const char *name = path + length + 1;
    return strchr(name, '/') == NULL ? name : NULL;
}

static void add_child(void *with, const struct zr_sim_view *view)
{
    struct look *look = with;
    const char *name = child_name(look->path, view->path);
    if (name == NULL)
        return;
    lua_pushstring(look->L, name);
    lua_rawseti(look->L, -2, ++look->pushed);
}

/* world:children(path): names, or nothing */
static int world_children(lua_State *L)
{
    const struct lua_world *world = zr_lua_world_check(L);
    struct look look = {.L = L, .path = luaL_checkstring(L, 2)};
    struct zr_stat stat;
    if (!zr_sim_stat(world->world, look.path, &stat))
        return 0;
    lua_newtable(L);
    zr_sim_walk(world->world, look.path, add_child, &look);
    return 1;
}

/* world:dump(path): one line per znode, or nil. The caller has taken the trace before. */
static int world_dump(lua_State *L)
{
    struct lua_world *world = zr_lua_world_check(L);
    zr_sim_dump(world->world, luaL_checkstring(L, 2), world->file);
    zr_lua_world_push_text(L, world);
    return 1;
}

static const luaL_Reg methods[] = {
    {"requests", world_requests}, {"watches", world_watches},
    {"sessions", world_sessions}, {"alive", world_alive},
    {"get", world_get},           {"children", world_children},
    {"dump", world_dump},         {NULL, NULL},
};

void zr_lua_world_add_looks(lua_State *L)
{
    zr_lua_add_functions(L, methods);
}
