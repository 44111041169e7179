/*
 * Memory that is exhausted for OpenSSL alone. To be loaded before OpenSSL allocates anything. A
 * separate Lua module, built with the specs and never installed.
 */
#include <lauxlib.h>
#include <lua.h>
#include <openssl/crypto.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

static atomic_long left; /* counts down to the allocation that fails */

static bool fails(void)
{
    return atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1;
}

static void *allocate(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return fails() ? NULL : malloc(size);
}

static void *reallocate(void *memory, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return fails() ? NULL : realloc(memory, size);
}

static void release(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    free(memory);
}

/* starve(n) > true if what the call before has asked for has happened. The n-th allocation from now
   on fails, 0: none. */
static int starve(lua_State *L)
{
    lua_pushboolean(L, atomic_exchange(&left, (long)luaL_checknumber(L, 1)) <= 0);
    return 1;
}

__attribute__((visibility("default"))) int luaopen_spec_starve(lua_State *L);

int luaopen_spec_starve(lua_State *L)
{
    if (CRYPTO_set_mem_functions(allocate, reallocate, release) != 1)
        return luaL_error(L, "OpenSSL has allocated something");
    lua_pushcfunction(L, starve);
    return 1;
}
