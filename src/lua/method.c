#include <string.h>

#include "core/session.h"
#include "lua/binding.h"
#include "plain/session_class.h"
#include "recipes/recipes.h"

/*
 * The properties and the methods of a class, made from its description. There are three kinds of
 * methods:
 *
 *   start   returns slot, host: the Lua layer waits for the slot
 *   call    returns its results
 *   make    returns an object; the recipes are such methods of the session
 *
 * A method that fails at once returns nil, message, word. Methods that start something are in a
 * table of their own, because the Lua layer wraps them; so are the inner ones, which only the Lua
 * layer calls.
 *
 * Upvalues of each: its description, and the metatable of its class.
 */

#define META lua_upvalueindex(2)

/* ---- Properties ----------------------------------------------------------------------------- */

static const struct zr_property *find_property(const struct zr_class *class, const char *name)
{
    const struct zr_property *property = class->properties;
    for (; property != NULL && property->name != NULL; property++)
        if (strcmp(property->name, name) == 0)
            return property;
    return NULL;
}

void zr_lua_push_property(lua_State *L, struct zr_object *object, const char *name)
{
    const struct zr_property *property = find_property(object->class, name);
    if (property == NULL) {
        lua_pushnil(L);
        return;
    }
    struct lua_sink sink;
    zr_lua_sink_init(&sink, L, 1);
    property->get(object, &sink.sink);
}

void zr_lua_object_path(lua_State *L, struct zr_object *object)
{
    zr_lua_push_property(L, object, "path");
}

/* ---- Methods -------------------------------------------------------------------------------- */

/* Pushes nil, "lock:acquire /path: why", word. The path is the first argument, or the object's. */
static int failure(lua_State *L, struct zr_object *self, const char *method, const char *letters,
                   enum zr_status status)
{
    lua_pushnil(L);
    if (letters[0] == 'p')
        lua_pushvalue(L, 2);
    else
        zr_lua_object_path(L, self);
    const char *path = lua_tostring(L, -1);
    lua_pushfstring(L, "%s:%s%s%s: %s", self->class->name, method, path != NULL ? " " : "",
                    path != NULL ? path : "", zr_status_text(status));
    lua_remove(L, -2);
    lua_pushstring(L, zr_status_word(status));
    return 3;
}

static void raise_misuse(lua_State *L, const struct lua_args *args, const char *method)
{
    if (args->args.misuse != NULL && args->args.misused > 0)
        zr_lua_misuse(L, "bad argument #%d to '%s' (%s)", args->args.misused, method,
                      args->args.misuse);
    if (args->args.misuse != NULL)
        zr_lua_misuse(L, "bad call of '%s' (%s)", method, args->args.misuse);
}

static int start_method(lua_State *L)
{
    const struct zr_method *method = lua_touserdata(L, lua_upvalueindex(1));
    struct zr_object *self = zr_lua_object_self(L, method->name, META);
    struct lua_engine *engine = zr_lua_engine_of(L, 1);
    struct zr_task *task = NULL;
    struct lua_args args;
    zr_lua_args_read(L, &args, method->name, method->args, method->options, method->options_size);
    compat_get_associated(L, 1);
    lua_rawgeti(L, -1, 1);
    if (engine == NULL)
        return failure(L, self, method->name, method->args, ZR_CLOSED);
    enum zr_status status = ZR_NO_MEMORY;
    if (zr_slots_reserve(engine))
        status = method->start(self, &args.args, &task);
    raise_misuse(L, &args, method->name);
    if (status != ZR_OK)
        return failure(L, self, method->name, method->args, status);
    lua_pushinteger(L, zr_slots_put(engine, task));
    lua_insert(L, -2);
    return 2;
}

static int call_method(lua_State *L)
{
    const struct zr_method *method = lua_touserdata(L, lua_upvalueindex(1));
    struct zr_object *self = zr_lua_object_self(L, method->name, META);
    struct lua_args args;
    struct lua_sink sink;
    zr_lua_args_read(L, &args, method->name, method->args, method->options, method->options_size);
    zr_lua_sink_init(&sink, L, 1);
    enum zr_status status = method->call(self, &args.args, &sink.sink);
    raise_misuse(L, &args, method->name);
    if (status != ZR_OK)
        return failure(L, self, method->name, method->args, status);
    return sink.results;
}

static int make_method(lua_State *L)
{
    const struct zr_method *method = lua_touserdata(L, lua_upvalueindex(1));
    struct zr_object *self = zr_lua_object_self(L, method->name, META), *object = NULL;
    struct lua_args args;
    zr_lua_args_read(L, &args, method->name, method->args, method->options, method->options_size);
    struct lua_object *handle = zr_lua_object_new(L, 1);
    enum zr_status status = method->make(self, &args.args, &object);
    raise_misuse(L, &args, method->name);
    if (status != ZR_OK)
        return failure(L, self, method->name, method->args, status);
    zr_lua_object_adopt(L, handle, object);
    return 1;
}

static int make_object(lua_State *L)
{
    const struct zr_recipe *recipe = lua_touserdata(L, lua_upvalueindex(1));
    struct zr_object *self = zr_lua_object_self(L, recipe->name, META), *object = NULL;
    struct lua_args args;
    zr_lua_args_read(L, &args, recipe->name, recipe->args, recipe->options, recipe->options_size);
    struct lua_object *handle = zr_lua_object_new(L, 1);
    enum zr_status status = recipe->make((struct zr_session *)self, &args.args, &object);
    raise_misuse(L, &args, recipe->name);
    if (status != ZR_OK)
        return failure(L, self, recipe->name, recipe->args, status);
    zr_lua_object_adopt(L, handle, object);
    return 1;
}

/* ---- Tables of functions -------------------------------------------------------------------- */

/* Sets field `name` of the table at `into`. */
static void add(lua_State *L, int into, int meta, lua_CFunction function, const void *description,
                const char *name)
{
    lua_pushlightuserdata(L, (void *)description);
    lua_pushvalue(L, meta);
    lua_pushcclosure(L, function, 2);
    lua_setfield(L, into, name);
}

static void check_size(lua_State *L, const char *name, size_t options_size)
{
    if (options_size > ZR_LUA_OPTIONS_MAX)
        luaL_error(L, "the options of '%s' need more room in the binding", name);
}

void zr_lua_methods(lua_State *L, const struct zr_class *class, int meta, int methods, int start,
                    int inner)
{
    const struct zr_method *method = class->methods;
    for (; method != NULL && method->name != NULL; method++) {
        check_size(L, method->name, method->options_size);
        if (method->start != NULL)
            add(L, method->inner ? inner : start, meta, start_method, method, method->name);
        else
            add(L, method->inner ? inner : methods, meta,
                method->make != NULL ? make_method : call_method, method, method->name);
    }
    for (size_t i = 0; class == &zr_session_class && zr_recipes[i] != NULL; i++) {
        const struct zr_recipe *recipe = zr_recipes[i];
        check_size(L, recipe->name, recipe->options_size);
        add(L, recipe->inner ? inner : methods, meta, make_object, recipe, recipe->name);
    }
}
