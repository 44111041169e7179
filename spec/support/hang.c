/*
 * A disk that hangs while programs are started, to be preloaded: posix_spawn waits while the file
 * exists that HANG_WHILE names, but for half a minute at most.
 */
#include <dlfcn.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#define TURNS 3000
#define TURN_US 10000

typedef int function(pid_t *, const char *, const posix_spawn_file_actions_t *,
                     const posix_spawnattr_t *, char *const[], char *const[]);

static function *real;

__attribute__((constructor)) static void find(void)
{
    real = (function *)dlsym(RTLD_NEXT, "posix_spawn");
}

__attribute__((visibility("default"))) int
posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
            const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    const char *file = getenv("HANG_WHILE");
    for (int i = 0; i < TURNS && file != NULL && access(file, F_OK) == 0; i++)
        usleep(TURN_US);
    return real(pid, path, actions, attributes, arguments, environment);
}
