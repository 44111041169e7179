#include <string.h>

#include "core/pid.h"
#include "lua/binding.h"

/*
 * Objects of the core in Lua: one userdata each, a handle, with the metatable of its class
 * (classes.c).
 *
 * 1. A handle is made empty and then adopts an object, so that what can fail comes first.
 * 2. A weak table finds the handle if the same object is pushed again, so that == works.
 * 3. Values that the Lua layer stores with an object are in the handle's associated table. In a
 *    weak table, a value that refers to its object would keep the object forever in Lua 5.1, which
 *    has no ephemerons.
 * 4. __gc and __close: the user no longer needs the object. Both tell the core (forget), and __gc
 *    also gives the reference back. In a forked child they touch nothing.
 *
 * What can go wrong: a handle is collected while a newer handle of the same object exists (the
 * object was pushed again between the handle's death and its __gc). Then __gc only gives the
 * reference back.
 */

/* The index of the shared table in an object's own associated table. */
#define SHARED 3

static const char handles_key;

/* ---- The table of handles ------------------------------------------------------------------- */

void zr_lua_objects_open(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    lua_pushliteral(L, "v");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    compat_registry_set(L, &handles_key);
}

void zr_lua_object_find(lua_State *L, const void *object)
{
    compat_registry_get(L, &handles_key);
    lua_pushlightuserdata(L, (void *)object);
    lua_rawget(L, -2);
    lua_remove(L, -2);
}

/* Makes the value at `index` the handle of this object. */
static void set_handle(lua_State *L, const struct zr_object *object, int index)
{
    compat_registry_get(L, &handles_key);
    lua_pushlightuserdata(L, (void *)object);
    lua_pushvalue(L, index);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

int zr_lua_objects_live(lua_State *L)
{
    lua_newtable(L);
    int counts = lua_gettop(L);
    compat_registry_get(L, &handles_key);
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        const struct lua_object *handle = lua_touserdata(L, -1);
        const char *class = handle->object->class->name;
        lua_getfield(L, counts, class);
        lua_pushinteger(L, lua_tointeger(L, -1) + 1);
        lua_setfield(L, counts, class);
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
    return 1;
}

/* ---- Handles -------------------------------------------------------------------------------- */

/* Pushes the associated table that all objects of an engine share: { host, engine }. */
static void push_shared(lua_State *L, int owner)
{
    compat_get_associated(L, owner);
    lua_rawgeti(L, -1, SHARED);
    if (lua_isnil(L, -1))
        lua_pop(L, 1);
    else
        lua_remove(L, -2);
}

/* Gives the object at index 1 an associated table of its own: { host, engine, the shared table
   }. */
static void disown_shared(lua_State *L)
{
    compat_get_associated(L, 1);
    lua_createtable(L, SHARED, 1);
    for (int i = 1; i < SHARED; i++) {
        lua_rawgeti(L, -2, i);
        lua_rawseti(L, -2, i);
    }
    lua_insert(L, -2);
    lua_rawseti(L, -2, SHARED);
    compat_set_associated(L, 1);
}

int zr_lua_object_keep(lua_State *L)
{
    lua_settop(L, 3);
    compat_get_associated(L, 1);
    lua_rawgeti(L, -1, SHARED);
    if (lua_isnil(L, -1))
        disown_shared(L);
    lua_settop(L, 3);
    compat_get_associated(L, 1);
    lua_insert(L, 2);
    lua_rawset(L, 2);
    return 0;
}

int zr_lua_object_kept(lua_State *L)
{
    lua_settop(L, 2);
    compat_get_associated(L, 1);
    lua_insert(L, 2);
    lua_rawget(L, 2);
    return 1;
}

struct lua_object *zr_lua_object_new(lua_State *L, int owner)
{
    struct lua_object *handle = compat_new_userdata(L, sizeof(*handle));
    *handle = (struct lua_object){NULL, zr_pid()};
    push_shared(L, owner);
    compat_set_associated(L, -2);
    return handle;
}

void zr_lua_object_adopt(lua_State *L, struct lua_object *handle, struct zr_object *object)
{
    compat_registry_get(L, object->class);
    handle->object = object;
    lua_setmetatable(L, -2);
    set_handle(L, object, lua_gettop(L));
}

void zr_lua_object_push(lua_State *L, int owner, struct zr_object *object)
{
    luaL_checkstack(L, 6, NULL);
    zr_lua_object_find(L, object);
    if (!lua_isnil(L, -1))
        return;
    lua_pop(L, 1);
    struct lua_object *handle = zr_lua_object_new(L, owner);
    zr_lua_object_adopt(L, handle, zr_object_ref(object));
}

static int bad_self(lua_State *L, const char *method, int meta)
{
    lua_getfield(L, meta, "__name");
    const char *name = lua_tostring(L, -1);
    return zr_lua_misuse(L,
                         "calling '%s' on a bad self (%s expected, got %s); write object:%s(...)",
                         method, name != NULL ? name : "object", luaL_typename(L, 1), method);
}

/* Raises unless the value at index 1 has this metatable and is not collected. Returns its handle;
   null: it is an object of the Lua layer. */
static const struct lua_object *check_self(lua_State *L, const char *method, int meta)
{
    if (!lua_getmetatable(L, 1) || !lua_rawequal(L, -1, meta))
        bad_self(L, method, meta);
    lua_pop(L, 1);
    const struct lua_object *handle = lua_touserdata(L, 1);
    if (handle != NULL && handle->object == NULL)
        zr_lua_misuse(L, "calling '%s' on an object that was collected already", method);
    return handle;
}

struct zr_object *zr_lua_object_self(lua_State *L, const char *method, int meta)
{
    const struct lua_object *handle = check_self(L, method, meta);
    if (handle == NULL)
        bad_self(L, method, meta);
    return handle != NULL ? handle->object : NULL;
}

/* Only handles have this finalizer. */
struct zr_object *zr_lua_object_at(lua_State *L, int index)
{
    const struct lua_object *handle = lua_touserdata(L, index);
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index))
        return NULL;
    lua_pushliteral(L, "__gc");
    lua_rawget(L, -2);
    bool ours = lua_tocfunction(L, -1) == zr_lua_object_collect;
    lua_pop(L, 2);
    return ours ? handle->object : NULL;
}

int zr_lua_object_check(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TTABLE);
    check_self(L, luaL_checkstring(L, 3), 2);
    return 0;
}

/* ---- Letting go ----------------------------------------------------------------------------- */

int zr_lua_object_collect(lua_State *L)
{
    struct lua_object *handle = lua_touserdata(L, 1);
    struct zr_object *object = handle->object;
    if (object == NULL || handle->pid != zr_pid())
        return 0;
    handle->object = NULL;
    zr_lua_object_find(L, object);
    bool newer = !lua_isnil(L, -1) && !lua_rawequal(L, -1, 1);
    if (lua_rawequal(L, -1, 1)) {
        lua_pushnil(L);
        set_handle(L, object, lua_gettop(L));
    }
    if (!newer && object->class->forget != NULL)
        object->class->forget(object);
    zr_object_unref(object);
    return 0;
}

int zr_lua_object_close(lua_State *L)
{
    const struct lua_object *handle = lua_touserdata(L, 1);
    if (handle != NULL && handle->object != NULL && handle->pid == zr_pid())
        handle->object->class->forget(handle->object);
    return 0;
}
