#include <stdio.h>

#include "core/names.h"
#include "core/session.h"
#include "lua/binding.h"
#include "plain/session_class.h"
#include "recipes/recipes.h"
#include "zk/host_side.h"

/*
 * The methods of the engine, for a host:
 *
 *   wait(seconds)    sleep until there is something to do; or watch fd() and timeout() instead
 *   dispatch(limit)  do it
 *   next()           the slots whose tasks have finished, one by one     (task.c)
 *   take(slot)       their results                                       (task.c)
 *   pending()        how many slots are in use                           (task.c)
 *   note()           lines for the log
 *
 * When the engine is collected (at the latest when the Lua state is closed), it closes its
 * sessions, and waits a moment until the servers have been told. So a script that simply ends
 * leaves no ephemeral node behind. In a forked child it touches nothing.
 */

#define GOODBYE_US 250000
#define PATIENCE_US 10000000 /* the I/O thread of a busy machine is late */
#define STEPS_AT_ONCE 256
#define DEFAULT_HOSTS "127.0.0.1:2181"

/* ---- The end -------------------------------------------------------------------------------- */

/* The I/O thread gives each session back when its linger is over, whatever servers do. Only then
   all that it consists of can be freed: nobody will look into the inbox again. */
static void say_goodbye(struct zr_engine *core)
{
    int64_t limit = zr_engine_now_us(core) + GOODBYE_US + PATIENCE_US;
    zr_engine_close(core, GOODBYE_US);
    for (;;) {
        zr_engine_dispatch(core, STEPS_AT_ONCE);
        int64_t left = limit - zr_engine_now_us(core), due = zr_engine_timeout_us(core);
        if (left <= 0 || zr_engine_ended(core))
            return;
        core->zk->wait(core->zk, due >= 0 && due < left ? due : left);
    }
}

/* Nobody reads the log any more, and each of its lines counts its session. */
static void drop_notes(struct zr_engine *core)
{
    struct zr_note *note;
    while ((note = zr_engine_next_note(core)) != NULL)
        zr_note_free(note);
}

static int collect(lua_State *L)
{
    struct lua_engine *engine = lua_touserdata(L, 1);
    struct zr_engine *core = engine->core;
    if (core != NULL && !zr_engine_forked(core)) {
        zr_slots_fini(engine);
        zr_bell_fini(engine);
        say_goodbye(core);
        drop_notes(core);
        zr_engine_unref(core);
    }
    engine->core = NULL;
    return 0;
}

/* ---- Sessions ------------------------------------------------------------------------------- */

static void check_hosts(lua_State *L, const char *hosts)
{
    const char *problem = zr_hosts_problem(hosts);
    if (problem != NULL)
        zr_lua_misuse(L, "bad argument #1 to 'session' (option 'hosts': '%.200s' %s)", hosts,
                      problem);
}

/* Reads the options at index 2. Raises unless a session can have them. */
static const struct zr_session_options *read_session(lua_State *L, struct lua_args *args)
{
    zr_lua_args_read(L, args, "session", "o", zr_session_options,
                     sizeof(struct zr_session_options));
    struct zr_session_options *options = (struct zr_session_options *)&args->options;
    if (options->hosts.at == NULL)
        options->hosts = (struct zr_bytes){DEFAULT_HOSTS, sizeof(DEFAULT_HOSTS) - 1};
    check_hosts(L, options->hosts.at);
    const char *misuse = zr_session_misuse(options);
    if (misuse != NULL)
        zr_lua_misuse(L, "bad argument #1 to 'session' (%s)", misuse);
    const char *lacking = options->tls.wanted ? zr_zk_tls_problem() : NULL;
    if (lacking != NULL)
        zr_lua_misuse(L, "bad argument #1 to 'session' (option 'tls': %s)", lacking);
    lacking = zr_zk_sasl_problem(&options->sasl);
    if (lacking != NULL)
        zr_lua_misuse(L, "bad argument #1 to 'session' (option 'sasl': %s)", lacking);
    return options;
}

int zr_lua_check_session(lua_State *L)
{
    struct lua_args args;
    lua_settop(L, 1);
    lua_pushnil(L); /* in the place of the engine */
    lua_insert(L, 1);
    read_session(L, &args);
    return 0;
}

static int engine_session(lua_State *L)
{
    struct lua_engine *engine = zr_lua_engine_check(L);
    struct zr_session *session;
    struct lua_args args;
    const struct zr_session_options *options = read_session(L, &args);
    struct lua_object *handle = zr_lua_object_new(L, 1);
    enum zr_status status = zr_session_open(engine->core, &zr_session_class, options, &session);
    if (status == ZR_OK) {
        zr_lua_object_adopt(L, handle, &session->object);
        return 1;
    }
    lua_pushnil(L);
    lua_pushfstring(L, "session %s: %s", options->hosts.at, zr_status_text(status));
    lua_pushstring(L, zr_status_word(status));
    return 3;
}

/* ---- The loop ------------------------------------------------------------------------------- */

static int engine_dispatch(lua_State *L)
{
    struct lua_engine *engine = zr_lua_engine_check(L);
    engine->rung = false;
    lua_pushinteger(L, zr_engine_dispatch(engine->core, (int)luaL_checkinteger(L, 2)));
    return 1;
}

static int engine_wait(lua_State *L)
{
    struct zr_engine *core = zr_lua_engine_check(L)->core;
    int64_t limit = lua_isnoneornil(L, 2) ? -1 : (int64_t)ceil(luaL_checknumber(L, 2) * 1e6);
    int64_t due = zr_engine_timeout_us(core);
    if (limit < 0 || (due >= 0 && due < limit))
        limit = due;
    core->zk->wait(core->zk, limit);
    return 0;
}

static int engine_timeout(lua_State *L)
{
    int64_t due = zr_engine_timeout_us(zr_lua_engine_check(L)->core);
    if (due < 0)
        return 0;
    lua_pushnumber(L, (lua_Number)due / 1e6);
    return 1;
}

static int engine_fd(lua_State *L)
{
    struct zr_engine *core = zr_lua_engine_check(L)->core;
    lua_pushinteger(L, core->zk->fd(core->zk));
    return 1;
}

static int engine_now(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)zr_engine_now_us(zr_lua_engine_check(L)->core) / 1e6);
    return 1;
}

static int engine_ended(lua_State *L)
{
    lua_pushboolean(L, zr_engine_ended(zr_lua_engine_check(L)->core));
    return 1;
}

static int engine_forked(lua_State *L)
{
    lua_pushboolean(L, zr_engine_forked(zr_lua_engine_check(L)->core));
    return 1;
}

/* Returns level, text and session; or nothing. The reader of the log keeps the handle of the
   session, so no handle is made here; if the reader has dropped it, the session is nil. */
static int engine_note(lua_State *L)
{
    char text[512];
    struct zr_note *note = zr_engine_next_note(zr_lua_engine_check(L)->core);
    if (note == NULL)
        return 0;
    char level = note->level;
    const void *session = note->session;
    snprintf(text, sizeof(text), "%s", note->text);
    zr_note_free(note);
    lua_pushstring(L, level == 'E' ? "error" : level == 'W' ? "warning" : "info");
    lua_pushstring(L, text);
    zr_lua_object_find(L, session);
    return 3;
}

static const luaL_Reg methods[] = {
    {"session", engine_session}, {"dispatch", engine_dispatch},
    {"wait", engine_wait},       {"timeout", engine_timeout},
    {"fd", engine_fd},           {"now", engine_now},
    {"ended", engine_ended},     {"forked", engine_forked},
    {"note", engine_note},       {NULL, NULL},
};

void zr_lua_engine_open(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L);
    zr_lua_add_functions(L, methods);
    zr_lua_add_task_methods(L);
    zr_lua_add_bell_methods(L);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, collect);
    lua_setfield(L, -2, "__gc");
    lua_pushliteral(L, "zkrecipes.engine");
    lua_setfield(L, -2, "__name");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    compat_registry_set(L, &zr_lua_engine_meta);
}
