/*
 * Values from Lua: whatever is passed to the methods of the core, the binding must read it or raise
 * an error that explains the problem. The input is a small program: each call is a method, and its
 * arguments are values of every type, many of them words that methods know. Below is the simulated
 * ZooKeeper, whose clock moves now and then.
 */
#include <lauxlib.h>
#include <lualib.h>

#include "core/session.h"
#include "fuzz.h"
#include "lua/binding.h"
#include "sim/sim.h"
#include "zk/host_side.h"

#define DEEPEST 4
#define MOST_CALLS 4
#define INPUTS_A_SECOND 64 /* of the simulated clock */

static struct zr_sim_world *world;
static lua_State *L;
static int methods; /* how many; the list is at stack index 1, the engine at 2, the session at 3 */

/* ---- The host
 * ------------------------------------------------------------------------------------------- */

static enum zr_status make_zk(void *with, struct zr_zk **zk)
{
    (void)with;
    *zk = zr_sim_zk(world);
    return *zk != NULL ? ZR_OK : ZR_NO_MEMORY;
}

/* The simulated servers have no TLS and no SASL, and neither has the real client, which is left out
 * here. */
const char *zr_zk_tls_problem(void)
{
    return NULL;
}

const char *zr_zk_sasl_problem(const struct zr_sasl_options *options)
{
    (void)options;
    return NULL;
}

/* All functions of all classes and of the engine's session, in the order of their names. */
static const char setup[] = "local classes, engine = ...\n"
                            "local list, names = {}, {}\n"
                            "for class, made in pairs(classes) do\n"
                            "  for _, kind in ipairs { 'methods', 'start' } do\n"
                            "    for name in pairs(made[kind]) do names[#names + 1] = { class .. "
                            "':' .. name, made[kind][name] } end\n"
                            "  end\n"
                            "end\n"
                            "table.sort(names, function(a, b) return a[1] < b[1] end)\n"
                            "for i, pair in ipairs(names) do list[i] = pair[2] end\n"
                            "list[#list + 1] = function(_, ...) return engine:session(...) end\n"
                            "return list, engine, assert(engine:session { hosts = 'sim:1' })\n";

static void start(void)
{
    struct zr_sim_options options = {.seed = 1};
    world = zr_sim_world_new(&options);
    L = luaL_newstate();
    luaL_openlibs(L);
    zr_lua_engine_open(L);
    CLAIM(luaL_loadstring(L, setup) == LUA_OK);
    zr_lua_classes_open(L);
    lua_pushnil(L);
    zr_lua_engine_new(L, make_zk, NULL, lua_gettop(L));
    lua_remove(L, -2);
    CLAIM(lua_pcall(L, 2, 3, 0) == LUA_OK);
    methods = (int)lua_rawlen(L, 1);
}

static void let_time_pass(void)
{
    static int inputs;
    if (++inputs % INPUTS_A_SECOND != 0)
        return;
    lua_gc(L, LUA_GCCOLLECT);
    zr_sim_advance(world, 1000000);
    lua_getfield(L, 2, "dispatch");
    lua_pushvalue(L, 2);
    lua_pushinteger(L, 10000);
    CLAIM(lua_pcall(L, 2, 0, 0) == LUA_OK);
}

/* ---- From bytes to values
 * -------------------------------------------------------------------------------- */

static const char *const words[] = {
    "/",          "/a",        "/a/b",      "create",     "set",     "delete",    "check",
    "open",       "creator",   "read",      "rwcda",      "perms",   "scheme",    "id",
    "world",      "anyone",    "ephemeral", "ttl",        "parents", "container", "acl",
    "sequential", "data",      "joining",   "leaving",    "members", "hosts",     "timeout",
    "auth",       "namespace", "strict",    "credential", "digest",  "user:pass"};

struct bytes {
    const uint8_t *at, *end;
};

static uint8_t next(struct bytes *bytes)
{
    return bytes->at < bytes->end ? *bytes->at++ : 0;
}

static void push_word(struct bytes *bytes)
{
    lua_pushstring(L, words[next(bytes) % (sizeof words / sizeof words[0])]);
}

static void push_string(struct bytes *bytes)
{
    size_t length = next(bytes), left = (size_t)(bytes->end - bytes->at);
    length = length < left ? length : left;
    lua_pushlstring(L, (const char *)bytes->at, length);
    bytes->at += length;
}

static void push_number(struct bytes *bytes)
{
    uint64_t bits = 0;
    lua_Number number;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | next(bytes);
    memcpy(&number, &bits, sizeof number);
    lua_pushnumber(L, number);
}

static void push_value(struct bytes *bytes, int depth);

static void push_table(struct bytes *bytes, int depth, bool list)
{
    int count = depth < DEEPEST ? next(bytes) % 8 : 0;
    lua_newtable(L);
    for (int i = 1; i <= count; i++) {
        if (list)
            lua_pushinteger(L, i);
        else
            push_word(bytes);
        push_value(bytes, depth + 1);
        lua_rawset(L, -3);
    }
}

static void push_value(struct bytes *bytes, int depth)
{
    uint8_t kind = next(bytes) % 12;
    luaL_checkstack(L, 8, NULL);
    if (kind == 0)
        lua_pushnil(L);
    else if (kind == 1)
        lua_pushboolean(L, next(bytes) & 1);
    else if (kind == 2)
        push_number(bytes);
    else if (kind == 3)
        lua_pushinteger(L, (int8_t)next(bytes));
    else if (kind == 4)
        push_string(bytes);
    else if (kind == 5)
        lua_pushvalue(L, 3);
    else if (kind <= 7)
        push_table(bytes, depth, true);
    else if (kind <= 9)
        push_table(bytes, depth, false);
    else
        push_word(bytes);
}

/* ---- Calls
 * -----------------------------------------------------------------------------------------------
 */

static void drop(void)
{
    lua_getfield(L, 2, "drop");
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 4);
    CLAIM(lua_pcall(L, 2, 0, 0) == LUA_OK);
}

static void check_failure(const char *message)
{
    CLAIM(message != NULL && message[0] != '\0' && strlen(message) < 1200);
}

/* Must be misuse, and no error of our own code. */
static void check_misuse(const char *message)
{
    check_failure(message);
    CLAIM(strstr(message, "bad argument #") != NULL || strstr(message, "bad call of '") != NULL ||
          strstr(message, "calling '") != NULL);
}

/* A slot is dropped, an object is collected. */
static void call(struct bytes *bytes)
{
    lua_rawgeti(L, 1, next(bytes) % methods + 1);
    lua_pushvalue(L, 3);
    int count = next(bytes) % 6;
    for (int i = 0; i < count; i++)
        push_value(bytes, 0);
    if (lua_pcall(L, count + 1, 2, 0) != LUA_OK)
        check_misuse(lua_tostring(L, -1));
    else if (lua_isnil(L, 4))
        check_failure(lua_tostring(L, 5));
    else if (lua_isinteger(L, 4) && lua_isnil(L, 5))
        drop();
    lua_settop(L, 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, data + size};
    if (L == NULL)
        start();
    for (int i = 0; i < MOST_CALLS && bytes.at < bytes.end; i++)
        call(&bytes);
    let_time_pass();
    return 0;
}
