#include "lua/sim_world.h"

#include <string.h>

#include "core/alloc.h"

/*
 * A world as a userdata: its time and its trace. The simulator is a part of `zkrecipes.core`, not a
 * module of its own, because the Lua layer and the methods that it adds to classes belong to the
 * one core that it requires. A second copy of the binding would need a second copy of the Lua
 * layer.
 *
 * What can go wrong: the world is collected while its processes live. They keep it, but nothing
 * reads its trace any more.
 */

/* ---- Beginning and end ---------------------------------------------------------------------- */

/* Field `name` of the options at stack index 1. */
static int64_t option(lua_State *L, const char *name)
{
    int64_t value = 0;
    lua_getfield(L, 1, name);
    compat_to_integer(L, -1, &value);
    lua_pop(L, 1);
    return value;
}

/* world{ seed, servers, tick_ms, reap_ms, latency_us, jitter_us, trace } */
static int new_world(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    const struct zr_sim_options options = {
        .seed = (uint64_t)option(L, "seed"),
        .servers = (int)option(L, "servers"),
        .tick_ms = (int32_t)option(L, "tick_ms"),
        .reap_ms = (int32_t)option(L, "reap_ms"),
        .latency_us = option(L, "latency_us"),
        .jitter_us = option(L, "jitter_us"),
    };
    lua_getfield(L, 1, "trace");
    bool traced = lua_toboolean(L, -1);
    struct lua_world *world = compat_new_userdata(L, sizeof(*world));
    memset(world, 0, sizeof(*world));
    compat_registry_get(L, &zr_lua_world_meta);
    lua_setmetatable(L, -2);
    world->world = zr_sim_world_new(&options);
    world->file = zr_lua_world_open_text(world);
    if (world->file == NULL)
        return luaL_error(L, "cannot create a world: %s", zr_status_text(ZR_NO_MEMORY));
    if (traced)
        zr_sim_trace_to(world->world, world->file);
    return 1;
}

static int collect(lua_State *L)
{
    struct lua_world *world = lua_touserdata(L, 1);
    if (world->world == NULL)
        return 0;
    zr_sim_trace_to(world->world, NULL);
    zr_sim_world_free(world->world);
    if (world->file != NULL)
        fclose(world->file);
    zr_free(world->text);
    world->world = NULL;
    return 0;
}

static enum zr_status make_process(void *with, struct zr_zk **zk)
{
    *zk = zr_sim_zk(with);
    return ZR_OK;
}

/* world:engine(host, seed): an engine in a new process. */
static int world_engine(lua_State *L)
{
    struct lua_world *world = zr_lua_world_check(L);
    lua_settop(L, 3);
    int64_t seed = luaL_checkinteger(L, 3);
    zr_lua_engine_new(L, make_process, world->world, 2);
    zr_engine_seed(((struct lua_engine *)lua_touserdata(L, -1))->core, (uint64_t)seed);
    return 1;
}

/* ---- Time ----------------------------------------------------------------------------------- */

static int world_now(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)zr_sim_now_us(zr_lua_world_check(L)->world) / 1e6);
    return 1;
}

/* The process at this place of the list at stack index 2; null: the list is shorter. */
static struct lua_engine *process_at(lua_State *L, int place)
{
    lua_rawgeti(L, 2, place);
    struct lua_engine *engine = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (engine != NULL && engine->core == NULL)
        zr_lua_misuse(L, "the process was collected already");
    return engine;
}

/* The time until the process has something to do; -1: it knows of nothing. */
static int64_t due_us(struct zr_engine *process)
{
    int64_t paused_us = zr_sim_paused_us(process->zk);
    if (paused_us > 0)
        return paused_us;
    return zr_sim_ready(process->zk) ? 0 : zr_engine_timeout_us(process);
}

static bool has_held(lua_State *L, int place)
{
    lua_rawgeti(L, 3, place);
    bool held = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return held;
}

static bool has_news(const struct lua_engine *engine)
{
    const struct zr_engine *process = engine->core;
    return engine->rung || zr_engine_forked(process) || !zr_list_empty(&process->reported) ||
           !zr_list_empty(&process->notes);
}

/* Does what the process has to do. True if there is something for the Lua layer, which then calls
   engine:dispatch: mostly there is not, and a call of it takes longer than the work. */
static bool dispatch(struct lua_engine *engine, int steps)
{
    if (!has_news(engine) && due_us(engine->core) == 0)
        zr_engine_dispatch(engine->core, steps);
    return has_news(engine);
}

/* Lets the processes from this place on work, except paused ones. Stops at the first one that has
   something for the Lua layer (*due), or is marked in the table `held`. Gives its place, or 0. */
static int work(lua_State *L, int place, int steps, bool *due)
{
    struct lua_engine *engine;
    for (; (engine = process_at(L, place)) != NULL; place++) {
        if (zr_sim_paused(engine->core->zk))
            continue;
        *due = dispatch(engine, steps);
        if (*due || has_held(L, place))
            return place;
    }
    return 0;
}

/* world:next(processes, held, from, steps): lets them work, each at most this many steps. Returns
   the place of the process that stopped it, see above, and whether it has something for the Lua
   layer. Nothing if none did. */
static int world_next(lua_State *L)
{
    bool due;
    zr_lua_world_check(L);
    int place = work(L, (int)luaL_checkinteger(L, 4), (int)luaL_checkinteger(L, 5), &due);
    if (place == 0)
        return 0;
    lua_pushinteger(L, place);
    lua_pushboolean(L, due);
    return 2;
}

/* Advances until a process has something to do, or the time is over. */
static void advance(lua_State *L, struct zr_sim_world *world, int64_t until_us)
{
    struct lua_engine *engine;
    int64_t now_us = zr_sim_now_us(world);
    for (int place = 1; (engine = process_at(L, place)) != NULL; place++) {
        int64_t us = due_us(engine->core);
        until_us = us >= 0 && us < until_us - now_us ? now_us + us : until_us;
    }
    zr_sim_run(world, until_us);
}

/* world:run(processes, held, seconds, steps): time passes, and the processes work, until
   world:next would return one of them, or the time is over. */
static int world_run(lua_State *L)
{
    bool due;
    struct zr_sim_world *world = zr_lua_world_check(L)->world;
    int64_t until_us = zr_sim_now_us(world) + zr_lua_world_us(L, 4);
    int steps = (int)luaL_checkinteger(L, 5);
    do
        advance(L, world, until_us);
    while (work(L, 1, steps, &due) == 0 && zr_sim_now_us(world) < until_us);
    return 0;
}

/* world:advance(seconds): advances by this time */
static int world_advance(lua_State *L)
{
    zr_sim_advance(zr_lua_world_check(L)->world, zr_lua_world_us(L, 2));
    return 0;
}

/* world:leader_only(): from now on the trace has only the lines that begin with "leader:". */
static int world_leader_only(lua_State *L)
{
    zr_sim_trace_leader_only(zr_lua_world_check(L)->world);
    return 0;
}

/* world:text(): the trace since the last call, or nil. */
static int world_text(lua_State *L)
{
    zr_lua_world_push_text(L, zr_lua_world_check(L));
    return 1;
}

static const luaL_Reg methods[] = {
    {"engine", world_engine},
    {"now", world_now},
    {"run", world_run},
    {"next", world_next},
    {"advance", world_advance},
    {"text", world_text},
    {"leader_only", world_leader_only},
    {NULL, NULL},
};

/* ---- The table ------------------------------------------------------------------------------ */

struct name {
    const char *text;
    int number;
};

static const struct name kinds[] = {
    {"any", ZR_SIM_ANY_OP},       {"create", ZR_OP_CREATE},     {"delete", ZR_OP_DELETE},
    {"exists", ZR_OP_EXISTS},     {"get", ZR_OP_GET},           {"set", ZR_OP_SET},
    {"children", ZR_OP_CHILDREN}, {"sync", ZR_OP_SYNC},         {"get_acl", ZR_OP_GET_ACL},
    {"set_acl", ZR_OP_SET_ACL},   {"add_auth", ZR_OP_ADD_AUTH}, {"reconfig", ZR_OP_RECONFIG},
    {"unwatch", ZR_OP_UNWATCH},   {"multi", ZR_OP_MULTI},       {NULL, 0},
};

static const struct name faults[] = {
    {"lose_request", ZR_SIM_LOSE_REQUEST},
    {"lose_reply", ZR_SIM_LOSE_REPLY},
    {"late_request", ZR_SIM_LATE_REQUEST},
    {"delay", ZR_SIM_DELAY},
    {"cut", ZR_SIM_CUT},
    {"expire", ZR_SIM_EXPIRE},
    {"pause", ZR_SIM_PAUSE},
    {"new_session", ZR_SIM_RENAME},
    {NULL, 0},
};

/* Sets field `field` of the table on top of the stack. */
static void set_names(lua_State *L, const char *field, const struct name *names)
{
    lua_newtable(L);
    for (; names->text != NULL; names++) {
        lua_pushinteger(L, names->number);
        lua_setfield(L, -2, names->text);
    }
    lua_setfield(L, -2, field);
}

static void make_meta(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    zr_lua_add_functions(L, methods);
    zr_lua_world_add_faults(L);
    zr_lua_world_add_looks(L);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    compat_registry_set(L, &zr_lua_world_meta);
}

void zr_lua_sim_open(lua_State *L)
{
    make_meta(L);
    lua_newtable(L);
    lua_pushcfunction(L, new_world);
    lua_setfield(L, -2, "world");
    set_names(L, "kinds", kinds);
    set_names(L, "faults", faults);
}
