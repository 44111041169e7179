#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lua/binding.h"

/*
 * SIGTERM during zk.run: systemd and Kubernetes send it to end a program.
 *
 * 1. zk.run begins to catch it, and says which descriptor wakes its loop.
 * 2. The handler notes the signal and wakes the loop. The loop asks whether the signal came. zk.run
 *    then ends as it does with Ctrl-C.
 * 3. zk.run ends the process by the same signal with its default action, so that the parent process
 *    sees what has ended it.
 *
 * What can go wrong: the clean-up hangs, or the program never comes back to its loop. The handler
 * is used once, so a second SIGTERM ends the process. The program handles or ignores SIGTERM
 * itself: then zk.run leaves it alone. The process forks: the child ends by the signal as if it
 * were not caught; its handler must not wake the loop of the parent, with which it shares the
 * descriptor.
 *
 * Only one zk.run of the process can catch it, though several threads of the host may each run one.
 */

static volatile sig_atomic_t came, wakes = -1;
static pid_t catcher; /* 0: no run catches it */

static void die(void)
{
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM); /* the signal is blocked in the handler, and is delivered when it returns */
}

static void on_sigterm(int number)
{
    (void)number;
    int problem = errno;
    const uint64_t one = 1;
    if (getpid() != catcher) {
        die();
        errno = problem;
        return;
    }
    came = 1;
    if (wakes >= 0 && write(wakes, &one, sizeof(one)) < 0)
        came = 1; /* the counter is full: the loop is awake */
    errno = problem;
}

/* catch(fd): catches SIGTERM from now on; true if it succeeds. fd: an eventfd that wakes the
   loop, or -1. */
static int catch_it(lua_State *L)
{
    int fd = (int)luaL_checkinteger(L, 1);
    struct sigaction before, ours = {.sa_handler = on_sigterm, .sa_flags = (int)SA_RESETHAND};
    lua_pushboolean(L, 0);
    if (catcher == getpid() || sigaction(SIGTERM, NULL, &before) != 0 ||
        before.sa_handler != SIG_DFL)
        return 1;
    catcher = getpid();
    wakes = fd;
    came = 0;
    bool caught = sigaction(SIGTERM, &ours, NULL) == 0;
    if (!caught)
        catcher = 0;
    lua_pushboolean(L, caught);
    return 1;
}

/* came(): true once after the signal has come. */
static int has_come(lua_State *L)
{
    bool has = came; /* it may come now: then the next call says so */
    if (has)
        came = 0;
    lua_pushboolean(L, has);
    return 1;
}

/* forget(): it is no longer caught. Leaves a handler alone that the program has set meanwhile. True
   when it has come and the loop has not asked. */
static int forget(lua_State *L)
{
    struct sigaction now;
    if (sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == on_sigterm)
        signal(SIGTERM, SIG_DFL);
    catcher = 0;
    wakes = -1;
    return has_come(L);
}

/* die(): ends the process by SIGTERM. Writes buffered output before. The default action does not
   end the first process of a container, so that process exits with the status that a shell would
   give. */
static int end_by_it(lua_State *L)
{
    (void)L;
    sigset_t only;
    fflush(NULL);
    sigemptyset(&only);
    sigaddset(&only, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    die();
    _exit(128 + SIGTERM);
}

void zr_lua_sigterm_open(lua_State *L)
{
    static const luaL_Reg functions[] = {{"catch", catch_it},
                                         {"came", has_come},
                                         {"forget", forget},
                                         {"die", end_by_it},
                                         {NULL, NULL}};
    lua_newtable(L);
    zr_lua_add_functions(L, functions);
}
