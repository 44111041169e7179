#include "lua/sim_world.h"

/*
 * Faults, for the Lua layer. Arguments that it always passes are checked only for their type;
 * lua/zkrecipes/sim checks what users pass.
 */

/* world:cut(process, session or nil, arrives) */
static int world_cut(lua_State *L)
{
    zr_sim_cut(zr_lua_world_process(L, 2), zr_lua_world_session(L, 3), lua_toboolean(L, 4));
    return 0;
}

/* world:link(process, up) */
static int world_link(lua_State *L)
{
    zr_sim_link(zr_lua_world_process(L, 2), lua_toboolean(L, 3));
    return 0;
}

/* world:partition(process, to_server, to_client) */
static int world_partition(lua_State *L)
{
    unsigned held = 0;
    if (lua_toboolean(L, 3))
        held |= ZR_SIM_TO_SERVER;
    if (lua_toboolean(L, 4))
        held |= ZR_SIM_TO_CLIENT;
    zr_sim_partition(zr_lua_world_process(L, 2), held);
    return 0;
}

/* world:pause(process, seconds) */
static int world_pause(lua_State *L)
{
    zr_sim_pause(zr_lua_world_process(L, 2), zr_lua_world_us(L, 3));
    return 0;
}

/* world:paused(process): seconds, or nil */
static int world_paused(lua_State *L)
{
    int64_t left_us = zr_sim_paused_us(zr_lua_world_process(L, 2));
    if (left_us == 0)
        return 0;
    lua_pushnumber(L, (lua_Number)left_us / 1e6);
    return 1;
}

/* world:prefer(process, server) */
static int world_prefer(lua_State *L)
{
    zr_sim_prefer(zr_lua_world_process(L, 2), (int)luaL_checkinteger(L, 3));
    return 0;
}

/* world:plan(process, session or nil, kind, fault, nth, seconds, down). A late request without
   `down` keeps the client away until the request has arrived. */
static int world_plan(lua_State *L)
{
    struct zr_zk *zk = zr_lua_world_process(L, 2);
    int64_t down_us = zr_lua_world_us(L, 8);
    if (lua_isnoneornil(L, 8) && luaL_checkinteger(L, 5) == ZR_SIM_LATE_REQUEST)
        down_us = -1;
    const struct zr_sim_plan plan = {
        .session = zr_lua_world_session(L, 3),
        .op = (int)luaL_checkinteger(L, 4),
        .fault = (enum zr_sim_fault)luaL_checkinteger(L, 5),
        .nth = (int)luaL_checkinteger(L, 6),
        .us = zr_lua_world_us(L, 7),
        .down_us = down_us,
    };
    zr_sim_plan(zk, &plan);
    return 0;
}

/* world:plans(process): how many planned faults have not happened yet */
static int world_plans(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)zr_sim_plans_left(zr_lua_world_process(L, 2)));
    return 1;
}

/* ---- Servers -------------------------------------------------------------------------------- */

/* world:expire(session): false if there is no such session */
static int world_expire(lua_State *L)
{
    struct lua_world *world = zr_lua_world_check(L);
    lua_pushboolean(L, zr_sim_expire(world->world, zr_lua_world_session(L, 2)));
    return 1;
}

/* world:lag(server, seconds) */
static int world_lag(lua_State *L)
{
    struct lua_world *world = zr_lua_world_check(L);
    zr_sim_lag(world->world, (int)luaL_checkinteger(L, 2), zr_lua_world_us(L, 3));
    return 0;
}

/* world:isolate(server, on) */
static int world_isolate(lua_State *L)
{
    struct lua_world *world = zr_lua_world_check(L);
    zr_sim_isolate(world->world, (int)luaL_checkinteger(L, 2), lua_toboolean(L, 3));
    return 0;
}

/* world:pause_server(server, seconds) */
static int world_pause_server(lua_State *L)
{
    struct lua_world *world = zr_lua_world_check(L);
    zr_sim_pause_server(world->world, (int)luaL_checkinteger(L, 2), zr_lua_world_us(L, 3));
    return 0;
}

/* world:stop(server, on) */
static int world_stop(lua_State *L)
{
    struct lua_world *world = zr_lua_world_check(L);
    zr_sim_stop(world->world, (int)luaL_checkinteger(L, 2), lua_toboolean(L, 3));
    return 0;
}

/* ---- At random ------------------------------------------------------------------------------ */

/* Field `name` of the table at stack index 2, or 0. */
static lua_Number field(lua_State *L, const char *name)
{
    lua_getfield(L, 2, name);
    lua_Number value = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return value;
}

static uint32_t share(lua_State *L, const char *name)
{
    return (uint32_t)(field(L, name) * 1e6 + 0.5);
}

static int64_t time_us(lua_State *L, const char *name)
{
    return (int64_t)(field(L, name) * 1e6);
}

/* world:faults(table or nil) */
static int world_faults(lua_State *L)
{
    struct zr_sim_world *world = zr_lua_world_check(L)->world;
    if (lua_isnoneornil(L, 2)) {
        zr_sim_set_faults(world, NULL);
        return 0;
    }
    const struct zr_sim_faults faults = {
        .lose_request = share(L, "lose_request"),
        .lose_reply = share(L, "lose_reply"),
        .late_request = share(L, "late_request"),
        .delay = share(L, "delay"),
        .cut = share(L, "cut"),
        .expire = share(L, "expire"),
        .pause = share(L, "pause"),
        .rename = share(L, "new_session"),
        .lag = share(L, "lag"),
        .delay_us = time_us(L, "max_delay"),
        .down_us = time_us(L, "max_down"),
        .pause_us = time_us(L, "max_pause"),
        .lag_us = time_us(L, "max_lag"),
    };
    zr_sim_set_faults(world, &faults);
    return 0;
}

static const luaL_Reg methods[] = {
    {"cut", world_cut},     {"link", world_link},       {"partition", world_partition},
    {"pause", world_pause}, {"paused", world_paused},   {"prefer", world_prefer},
    {"plan", world_plan},   {"plans", world_plans},     {"expire", world_expire},
    {"lag", world_lag},     {"isolate", world_isolate}, {"pause_server", world_pause_server},
    {"stop", world_stop},   {"faults", world_faults},   {NULL, NULL},
};

void zr_lua_world_add_faults(lua_State *L)
{
    zr_lua_add_functions(L, methods);
}
