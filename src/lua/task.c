#include <string.h>

#include "lua/binding.h"

/*
 * The tasks with a waiter, for Lua. The method that starts the task takes a slot (method.c). The
 * waiter frees the slot with `take` or `drop`.
 *
 * What can go wrong: Lua's memory is exhausted while the results become values. Then the task
 * counts as one whose results were not taken, so that a lock that was just granted is released.
 */

static struct zr_task *check_task(lua_State *L, const struct lua_engine *engine)
{
    struct zr_task *task = zr_slots_get(engine, luaL_checkinteger(L, 2));
    if (task == NULL)
        zr_lua_misuse(L, "no task waits in slot %d", (int)lua_tointeger(L, 2));
    return task;
}

/* Returns the slot of a task that has something to report; or nothing. */
static int engine_next(lua_State *L)
{
    struct zr_task *task = zr_engine_next_reported(zr_lua_engine_check(L)->core);
    if (task == NULL)
        return 0;
    lua_pushinteger(L, task->slot);
    return 1;
}

/* Called with the engine and the task. */
static int push_results(lua_State *L)
{
    struct zr_task *task = lua_touserdata(L, 2);
    struct lua_sink sink;
    if (task->status == ZR_OK) {
        zr_lua_sink_init(&sink, L, 1);
        task->kind->results(task, &sink.sink);
        return sink.results;
    }
    size_t size = strlen(task->kind->name) + strlen(task->subject) + 1024;
    size += task->detail != NULL ? strlen(task->detail) : 0;
    char *text = compat_new_userdata(L, size);
    lua_pushnil(L);
    lua_pushstring(L, zr_task_message(task, text, size));
    lua_pushstring(L, zr_status_word(task->status));
    zr_lua_sink_init(&sink, L, 1);
    if (task->kind->failed != NULL)
        task->kind->failed(task, &sink.sink);
    return 3 + sink.results;
}

static int push_forked(lua_State *L)
{
    lua_pushnil(L);
    lua_pushstring(L, zr_status_text(ZR_FORKED));
    lua_pushstring(L, zr_status_word(ZR_FORKED));
    return 3;
}

/* Upvalue: push_results. */
static int engine_take(lua_State *L)
{
    struct lua_engine *engine = zr_lua_engine_check(L);
    struct zr_task *task = check_task(L, engine);
    int slot = task->slot, base = lua_gettop(L);
    if (zr_engine_forked(engine->core)) {
        zr_slots_clear(engine, slot);
        return push_forked(L);
    }
    if (!task->reported)
        return zr_lua_misuse(L, "the task in slot %d has not finished", slot);
    zr_task_settle(task);
    luaL_checkstack(L, 4, NULL);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushlightuserdata(L, task);
    bool good = lua_pcall(L, 2, LUA_MULTRET, 0) == 0;
    zr_slots_clear(engine, slot);
    zr_task_drop(task, good);
    return good ? lua_gettop(L) - base : lua_error(L);
}

/* Ends the task; it still reports. */
static int engine_cancel(lua_State *L)
{
    struct lua_engine *engine = zr_lua_engine_check(L);
    struct zr_task *task = check_task(L, engine);
    if (!zr_engine_forked(engine->core))
        zr_task_interrupt(task, ZR_CANCELED);
    return 0;
}

/* No coroutine waits for the task any more: ends the task, or undoes its success. */
static int engine_drop(lua_State *L)
{
    struct lua_engine *engine = zr_lua_engine_check(L);
    struct zr_task *task = check_task(L, engine);
    zr_slots_clear(engine, task->slot);
    if (!zr_engine_forked(engine->core))
        zr_task_drop(task, false);
    return 0;
}

/* Returns how many slots are in use. */
static int engine_pending(lua_State *L)
{
    lua_pushinteger(L, zr_lua_engine_check(L)->in_use);
    return 1;
}

static const luaL_Reg methods[] = {
    {"next", engine_next},
    {"pending", engine_pending},
    {"cancel", engine_cancel},
    {"drop", engine_drop},
    {NULL, NULL},
};

void zr_lua_add_task_methods(lua_State *L)
{
    zr_lua_add_functions(L, methods);
    lua_pushcfunction(L, push_results);
    lua_pushcclosure(L, engine_take, 1);
    lua_setfield(L, -2, "take");
}
