#include "core/stem.h"
#include "lua/binding.h"
#include "recipes/recipes.h"

/*
 * The classes: makes one metatable for each, from the description of the class, with its methods
 * and properties (method.c). And the stems, from the descriptions of the recipes.
 */

/* Methods first, then properties. Upvalues: the metatable, the methods. */
static int index_object(lua_State *L)
{
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(2));
    if (!lua_isnil(L, -1) || lua_type(L, 2) != LUA_TSTRING)
        return 1;
    const char *name = lua_tostring(L, 2);
    zr_lua_push_property(L, zr_lua_object_self(L, name, lua_upvalueindex(1)), name);
    return 1;
}

/* Upvalue: the metatable. Gives "zkrecipes.lock: /path". */
static int object_to_string(lua_State *L)
{
    const struct lua_object *handle = lua_touserdata(L, 1);
    if (handle == NULL || handle->object == NULL) {
        lua_pushliteral(L, "zkrecipes: a collected object");
        return 1;
    }
    struct zr_object *self = zr_lua_object_self(L, "tostring", lua_upvalueindex(1));
    zr_lua_object_path(L, self);
    if (lua_isnil(L, -1))
        lua_pushfstring(L, "zkrecipes.%s: %p", self->class->name, (void *)self);
    else
        lua_pushfstring(L, "zkrecipes.%s: %s", self->class->name, lua_tostring(L, -1));
    return 1;
}

/* ---- Classes -------------------------------------------------------------------------------- */

static void set_metamethods(lua_State *L, const struct zr_class *class, int meta, int methods)
{
    lua_pushvalue(L, meta);
    lua_pushvalue(L, methods);
    lua_pushcclosure(L, index_object, 2);
    lua_setfield(L, meta, "__index");
    lua_pushvalue(L, meta);
    lua_pushcclosure(L, object_to_string, 1);
    lua_setfield(L, meta, "__tostring");
    lua_pushcfunction(L, zr_lua_object_collect);
    lua_setfield(L, meta, "__gc");
    lua_pushfstring(L, "zkrecipes.%s", class->name);
    lua_setfield(L, meta, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, meta, "__metatable");
    if (class->forget != NULL) {
        lua_pushcfunction(L, zr_lua_object_close);
        lua_setfield(L, meta, "__close");
    }
}

/* Leaves { meta =, methods =, start =, inner = }. */
static void make_class(lua_State *L, const struct zr_class *class)
{
    lua_newtable(L);
    int made = lua_gettop(L), meta = made + 1, methods = made + 2, start = made + 3,
        inner = made + 4;
    lua_newtable(L);
    lua_newtable(L);
    lua_newtable(L);
    lua_newtable(L);
    set_metamethods(L, class, meta, methods);
    zr_lua_methods(L, class, meta, methods, start, inner);
    lua_setfield(L, made, "inner");
    lua_setfield(L, made, "start");
    lua_setfield(L, made, "methods");
    lua_pushvalue(L, meta);
    compat_registry_set(L, class);
    lua_setfield(L, made, "meta");
}

void zr_lua_classes_open(lua_State *L)
{
    zr_lua_objects_open(L);
    lua_newtable(L);
    for (size_t i = 0; zr_classes[i] != NULL; i++) {
        make_class(L, zr_classes[i]);
        lua_setfield(L, -2, zr_classes[i]->name);
    }
}

/* ---- Stems ---------------------------------------------------------------------------------- */

void zr_lua_stems_open(lua_State *L)
{
    int count = 0;
    lua_newtable(L);
    for (size_t i = 0; zr_recipes[i] != NULL; i++)
        for (const struct zr_stem *const *stem = zr_recipes[i]->stems;
             stem != NULL && *stem != NULL; stem++) {
            lua_pushstring(L, (*stem)->text);
            lua_rawseti(L, -2, ++count);
        }
}
