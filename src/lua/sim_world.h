#ifndef ZR_LUA_SIM_WORLD_H
#define ZR_LUA_SIM_WORLD_H

/*
 * sim_world.h: the simulated ZooKeeper for the Lua layer (lua/zkrecipes/sim): a userdata of a
 * world, whose processes are engines (binding.h). It trusts the Lua layer, which checks what users
 * pass. A "process" below is an engine of this world.
 */

#include "lua/binding.h"
#include "sim/sim.h"

struct lua_world {
    struct zr_sim_world *world; /* null: collected */
    FILE *file;                 /* its contents are added to `text` */
    char *text;                 /* zr_alloc */
    size_t length, room;
};

/* The registry's key of the metatable. */
extern const char zr_lua_world_meta;

/* gives: a file whose contents are added to the world's text; null: memory is exhausted. */
FILE *zr_lua_world_open_text(struct lua_world *world);

/* The world at stack index 1. */
struct lua_world *zr_lua_world_check(lua_State *L);

/* The client process of the engine at `index`, or null if that is nil. */
struct zr_zk *zr_lua_world_process(lua_State *L, int index);

/* Seconds at `index` in microseconds, 0 for nil. */
int64_t zr_lua_world_us(lua_State *L, int index);

/* The session id at `index`: 16 hexadecimal digits, or nil for 0. */
int64_t zr_lua_world_session(lua_State *L, int index);

/* Pushes the text since the last call, or nil. */
void zr_lua_world_push_text(lua_State *L, struct lua_world *world);

/* Add methods to the table on top of the stack. */
void zr_lua_world_add_faults(lua_State *L);
void zr_lua_world_add_looks(lua_State *L);

#endif
