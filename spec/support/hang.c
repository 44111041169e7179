/*
 * A machine on which no program can be started, to be preloaded. The disk hangs: posix_spawn waits
 * while the file exists that HANG_WHILE names, but for three minutes at most. It then fails if
 * HANG_REFUSES is set. With HANG_NO_PROC there is no file below /proc. With HANG_NO_ADVICE the
 * kernel takes no advice on memory, and says that it did (some versions of qemu-user).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURNS 18000
#define TURN_US 10000

typedef int function(pid_t *, const char *, const posix_spawn_file_actions_t *,
                     const posix_spawnattr_t *, char *const[], char *const[]);

static function *real;
static int (*real_open)(const char *, int, ...);

__attribute__((constructor)) static void find(void)
{
    real = (function *)dlsym(RTLD_NEXT, "posix_spawn");
    real_open = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
}

__attribute__((visibility("default"))) int
posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
            const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    const char *file = getenv("HANG_WHILE");
    for (int i = 0; i < TURNS && file != NULL && access(file, F_OK) == 0; i++)
        usleep(TURN_US);
    if (getenv("HANG_REFUSES") != NULL)
        return EACCES;
    return real(pid, path, actions, attributes, arguments, environment);
}

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0;
    va_end(arguments);
    errno = ENOENT;
    if (getenv("HANG_NO_PROC") != NULL && strncmp(path, "/proc/", 6) == 0)
        return -1;
    return real_open(path, flags, mode);
}

__attribute__((visibility("default"))) int madvise(void *at, size_t length, int advice)
{
    if (getenv("HANG_NO_ADVICE") != NULL)
        return 0;
    return (int)syscall(SYS_madvise, at, length, advice);
}
