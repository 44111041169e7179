/*
 * Process functions that specs need and Lua does not have, like fork without exec. A separate Lua
 * module, built with the specs and never installed.
 */
#include <errno.h>
#include <lauxlib.h>
#include <linux/close_range.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* fork() > 0 in the child, its pid in the parent */
static int fork_fork(lua_State *L)
{
    lua_pushinteger(L, fork());
    return 1;
}

/* exit(status): at once, nothing is closed or flushed */
static int fork_exit(lua_State *L)
{
    _exit((int)luaL_checkinteger(L, 1));
    return 0;
}

/* wait(pid) > exit status, or minus the signal that ended it */
static int fork_wait(lua_State *L)
{
    int status = 0;
    pid_t pid = (pid_t)luaL_checkinteger(L, 1);
    if (waitpid(pid, &status, 0) != pid)
        return luaL_error(L, "no such child");
    lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    return 1;
}

/* childless(): true if wait() would find no process */
static int fork_childless(lua_State *L)
{
    lua_pushboolean(L, waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    return 1;
}

/* exec(program, argument): returns only when it fails */
static int fork_exec(lua_State *L)
{
    const char *program = luaL_checkstring(L, 1);
    execlp(program, program, luaL_checkstring(L, 2), (char *)NULL);
    return 0;
}

/* close_from(fd): closes every descriptor from there on, of any owner */
static int fork_close_from(lua_State *L)
{
    closefrom((int)luaL_checkinteger(L, 1));
    return 0;
}

/* keep_from(fd): programs that are started from now on do not get the descriptors from there on */
static int fork_keep_from(lua_State *L)
{
    if (close_range((unsigned)luaL_checkinteger(L, 1), ~0U, CLOSE_RANGE_CLOEXEC) != 0)
        return luaL_error(L, "the descriptors cannot be kept: %s", strerror(errno));
    return 0;
}

/* chdir(path) */
static int fork_chdir(lua_State *L)
{
    if (chdir(luaL_checkstring(L, 1)) != 0)
        return luaL_error(L, "no such folder");
    return 0;
}

/* now(): seconds on the clock of zk.now() */
static int fork_now(lua_State *L)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    lua_pushnumber(L, (lua_Number)now.tv_sec + (lua_Number)now.tv_nsec / 1e9);
    return 1;
}

static lua_State *to_close;

static void close_state(void)
{
    lua_close(to_close);
}

/* close_at_exit(), in the main coroutine: the state is closed by an exit handler, as by a host that
   has it in a global object. End by os.exit(0). */
static int fork_close_at_exit(lua_State *L)
{
    to_close = L;
    atexit(close_state);
    return 0;
}

__attribute__((visibility("default"))) int luaopen_spec_fork(lua_State *L);

int luaopen_spec_fork(lua_State *L)
{
    /* A sanitizer that was preloaded into this process is not meant for the shells and servers
       that it starts. */
    unsetenv("LD_PRELOAD");
    lua_newtable(L);
    lua_pushcfunction(L, fork_fork);
    lua_setfield(L, -2, "fork");
    lua_pushcfunction(L, fork_exit);
    lua_setfield(L, -2, "exit");
    lua_pushcfunction(L, fork_wait);
    lua_setfield(L, -2, "wait");
    lua_pushcfunction(L, fork_childless);
    lua_setfield(L, -2, "childless");
    lua_pushcfunction(L, fork_exec);
    lua_setfield(L, -2, "exec");
    lua_pushcfunction(L, fork_close_from);
    lua_setfield(L, -2, "close_from");
    lua_pushcfunction(L, fork_keep_from);
    lua_setfield(L, -2, "keep_from");
    lua_pushcfunction(L, fork_chdir);
    lua_setfield(L, -2, "chdir");
    lua_pushcfunction(L, fork_close_at_exit);
    lua_setfield(L, -2, "close_at_exit");
    lua_pushcfunction(L, fork_now);
    lua_setfield(L, -2, "now");
    return 1;
}
