#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lua/binding.h"

/*
 * The bell: the engine's descriptor as a stream socket, for a host that can wait only for sockets
 * that it has made itself (nginx). A byte can be read from it whenever there is something to do.
 *
 * 1. listen: makes a unix socket in a fresh folder. It keeps a descriptor of the socket's name and
 *    removes the name and the folder at once, so that nothing is left behind, even by kill -9.
 * 2. The host connects to /proc/self/fd/<that descriptor>, with a socket that it has made.
 * 3. accept: accepts only this process. From now on the engine rings.
 *
 * What can go wrong: no folder can be written, no descriptor is free, or another process connects.
 * The methods return nil and the reason, and the host tries again later.
 */

void zr_bell_fini(struct lua_engine *engine)
{
    if (engine->listener >= 0)
        close(engine->listener);
    if (engine->name >= 0)
        close(engine->name);
    engine->listener = engine->name = -1;
}

/* When it returns, the name is removed; engine->name still leads to the socket. */
static bool bind_in(struct lua_engine *engine, const char *parent)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[64];
    snprintf(folder, sizeof(folder), "%s/zkrecipes-XXXXXX", parent);
    if (mkdtemp(folder) == NULL)
        return false;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/bell", folder);
    if (bind(engine->listener, (struct sockaddr *)&address, sizeof(address)) == 0)
        engine->name = open(address.sun_path, O_PATH | O_CLOEXEC);
    int problem = errno;
    unlink(address.sun_path);
    rmdir(folder);
    errno = problem;
    return engine->name >= 0 && listen(engine->listener, 1) == 0;
}

/* nil, message */
static int failure(lua_State *L, const char *what, const char *why)
{
    lua_pushnil(L);
    lua_pushfstring(L, "%s: %s", what, why);
    return 2;
}

/* listen(): returns an address for the host's connect */
static int engine_listen(lua_State *L)
{
    static const char *const parents[] = {"/tmp", "/dev/shm", "/var/tmp", "/run"};
    struct lua_engine *engine = zr_lua_engine_check(L);
    zr_bell_fini(engine);
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]) && engine->name < 0; i++) {
        zr_bell_fini(engine);
        engine->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (engine->listener < 0 || !bind_in(engine, parents[i]))
            continue;
        lua_pushfstring(L, "unix:/proc/self/fd/%d", engine->name);
        return 1;
    }
    const char *why = strerror(errno);
    zr_bell_fini(engine);
    return failure(L, "cannot create a socket in /tmp, /dev/shm, /var/tmp or /run", why);
}

static bool from_this_process(int socket)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == getpid();
}

/* accept(): returns true; call it after the host has connected */
static int engine_accept(lua_State *L)
{
    struct lua_engine *engine = zr_lua_engine_check(L);
    int socket = -1;
    while (engine->listener >= 0) {
        socket = accept4(engine->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (socket < 0 || from_this_process(socket))
            break;
        close(socket);
    }
    zr_bell_fini(engine);
    if (socket < 0)
        return failure(L, "the host has not connected", strerror(errno));
    engine->core->zk->set_bell(engine->core->zk, socket);
    lua_pushboolean(L, 1);
    return 1;
}

/* ring(): wakes the host as if there were something to do */
static int engine_ring(lua_State *L)
{
    struct lua_engine *engine = zr_lua_engine_check(L);
    engine->rung = true;
    engine->core->zk->wake(engine->core->zk);
    return 0;
}

/* hangup(): ends the bell */
static int engine_hangup(lua_State *L)
{
    struct lua_engine *engine = zr_lua_engine_check(L);
    zr_bell_fini(engine);
    engine->core->zk->set_bell(engine->core->zk, -1);
    return 0;
}

static const luaL_Reg methods[] = {
    {"listen", engine_listen},
    {"accept", engine_accept},
    {"ring", engine_ring},
    {"hangup", engine_hangup},
    {NULL, NULL},
};

void zr_lua_add_bell_methods(lua_State *L)
{
    zr_lua_add_functions(L, methods);
}
