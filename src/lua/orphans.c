#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lua/binding.h"

/*
 * Processes whose parents die, for zkr: see lua/zkrecipes/cli/orphans.lua. They become children of
 * the main thread, on which Lua runs there.
 *
 * What can go wrong: one that forks and exits all the time is another process each time. So it is
 * killed as soon as its number is read, and the pass over the children is short: all that have
 * ended are reaped. The list cannot be read, because memory or descriptors are exhausted: then
 * there may be children, and the caller tries again.
 */

#define CHILDREN "/proc/thread-self/children"

int zr_lua_adopt_orphans(lua_State *L)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) == 0) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
}

struct pass {
    int met, reaped;
    pid_t foreign; /* the last one that may not be killed; 0: none */
};

static void end(struct pass *pass, pid_t pid)
{
    bool refused = kill(pid, SIGKILL) != 0 && errno == EPERM;
    pass->met++;
    if (waitpid(pid, NULL, WNOHANG) == pid)
        pass->reaped++;
    else if (refused)
        pass->foreign = pid;
}

static bool is_spared(lua_State *L, pid_t pid)
{
    lua_rawgeti(L, 1, pid);
    bool spared = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return spared;
}

/* False: it has not read all. */
static bool end_all(lua_State *L, struct pass *pass)
{
    FILE *list = fopen(CHILDREN, "re");
    int pid;
    if (list == NULL)
        return false;
    while (fscanf(list, "%d", &pid) == 1)
        if (!is_spared(L, pid))
            end(pass, pid);
    bool complete = !ferror(list);
    fclose(list);
    return complete;
}

int zr_lua_kill_orphans(lua_State *L)
{
    struct pass pass = {.met = 0};
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!end_all(L, &pass))
        pass.met++;
    lua_pushinteger(L, pass.met);
    lua_pushinteger(L, pass.reaped);
    lua_pushinteger(L, pass.foreign);
    return 3;
}
