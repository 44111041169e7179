#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/names.h"
#include "lua/binding.h"
#include "zk/host_side.h"

/*
 * The module `zkrecipes.core`: engines, classes, and a few functions for the Lua layer and the
 * specs.
 *
 * Once loaded it is never unloaded: the I/O thread outlives the Lua state, and still runs its code.
 */

__attribute__((visibility("default"))) int luaopen_zkrecipes_core(lua_State *L);

static void pin(void)
{
    Dl_info info;
    if (dladdr((const void *)luaopen_zkrecipes_core, &info) != 0)
        dlopen(info.dli_fname, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

static enum zr_status make_client(void *unused, struct zr_zk **zk)
{
    (void)unused;
    return zr_zk_client_new(zk);
}

/* engine(host): makes an engine over the real client; `host` is returned with every slot. */
static int new_engine(lua_State *L)
{
    lua_settop(L, 1);
    zr_lua_engine_new(L, make_client, NULL, 1);
    return 1;
}

/* host(object): returns the host that was given to the engine of this object. */
static int host_of(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TUSERDATA);
    compat_get_associated(L, 1);
    if (lua_istable(L, -1))
        lua_rawgeti(L, -1, 1);
    return 1;
}

/* path_problem(path): returns nil, or what is wrong with the path. */
static int path_problem(lua_State *L)
{
    size_t length;
    const char *path = luaL_checklstring(L, 1, &length);
    lua_pushstring(L, zr_path_problem(path, length)); /* a null becomes nil */
    return 1;
}

/* real_path(path): the path of a file, absolute and without links; nil if there is no such file. */
static int real_path(lua_State *L)
{
    char *path = lua_newuserdata(L, PATH_MAX);
    lua_pushstring(L, realpath(luaL_checkstring(L, 1), path)); /* a null becomes nil */
    return 1;
}

/* yieldable(): true if the running coroutine can yield here. PUC Lua 5.1 cannot tell: always
   true. */
static int is_yieldable(lua_State *L)
{
    lua_pushboolean(L, compat_is_yieldable(L));
    return 1;
}

/* isatty(fd) */
static int is_terminal(lua_State *L)
{
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
    return 1;
}

/* wall_ms(): the milliseconds since 1970 on the clock that people set. */
static int wall_ms(lua_State *L)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    lua_pushnumber(L, (lua_Number)now.tv_sec * 1000 + (lua_Number)(now.tv_nsec / 1000000));
    return 1;
}

/* random_bytes(count): so many bytes of the kernel, which needs no file for them. */
static int random_bytes(lua_State *L)
{
    char bytes[64];
    ssize_t got;
    size_t count = (size_t)luaL_checkinteger(L, 1);
    luaL_argcheck(L, count <= sizeof bytes, 1, "0 to 64 expected");
    do
        got = getrandom(bytes, count, 0);
    while (got == -1 && errno == EINTR);
    if (got != (ssize_t)count)
        return luaL_error(L, "the system gives no random bytes: %s", strerror(errno));
    lua_pushlstring(L, bytes, count);
    return 1;
}

/* replaced(): true if the package was installed anew, or removed, since this module was loaded. */
static int replaced(lua_State *L)
{
    lua_pushboolean(L, zr_zk_replaced());
    return 1;
}

/* alloc_fail(n): makes the n-th allocation from now on fail; 0: none. */
static int alloc_fail(lua_State *L)
{
    zr_alloc_fail((int64_t)luaL_checknumber(L, 1));
    return 0;
}

static int alloc_failed(lua_State *L)
{
    lua_pushboolean(L, zr_alloc_failed());
    return 1;
}

static int alloc_blocks(lua_State *L)
{
    compat_push_integer(L, zr_alloc_blocks());
    return 1;
}

static int alloc_bytes(lua_State *L)
{
    compat_push_integer(L, zr_alloc_bytes());
    return 1;
}

static const luaL_Reg functions[] = {
    {"engine", new_engine},
    {"host", host_of},
    {"keep", zr_lua_object_keep},
    {"kept", zr_lua_object_kept},
    {"live", zr_lua_objects_live},
    {"check_self", zr_lua_object_check},
    {"own", zr_lua_own},
    {"misuse", zr_lua_raise},
    {"isatty", is_terminal},
    {"yieldable", is_yieldable},
    {"finalizes", zr_lua_finalizes},
    {"path_problem", path_problem},
    {"digest", zr_lua_digest},
    {"check_session", zr_lua_check_session},
    {"adopt_orphans", zr_lua_adopt_orphans},
    {"kill_orphans", zr_lua_kill_orphans},
    {"wall_ms", wall_ms},
    {"random_bytes", random_bytes},
    {"replaced", replaced},
    {"real_path", real_path},
    {"read_file", zr_lua_read_file},
    {"replace_file", zr_lua_replace_file},
    {"hash", zr_lua_hash},
    {"alloc_fail", alloc_fail},
    {"alloc_failed", alloc_failed},
    {"alloc_blocks", alloc_blocks},
    {"alloc_bytes", alloc_bytes},
    {NULL, NULL},
};

int luaopen_zkrecipes_core(lua_State *L)
{
    pin();
    zr_lua_engine_open(L);
    lua_newtable(L);
    zr_lua_add_functions(L, functions);
    zr_lua_classes_open(L);
    lua_setfield(L, -2, "classes");
    zr_lua_stems_open(L);
    lua_setfield(L, -2, "stems");
    zr_lua_sigterm_open(L);
    lua_setfield(L, -2, "sigterm");
    zr_lua_sim_open(L);
    lua_setfield(L, -2, "sim");
    return 1;
}
