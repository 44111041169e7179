#include "core/pid.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * The engine asks at each step whether the process has forked. So the pid is kept in a page that
 * the kernel clears in a child, however the child was made.
 *
 * What can go wrong: the kernel cannot do that (Linux before 4.14), or it is an emulator that says
 * yes to any advice and does nothing (some versions of qemu-user). Then each call asks the kernel.
 */

#define NO_ADVICE (-1)

static _Atomic pid_t *kept; /* null: each call asks */

__attribute__((constructor)) static void begin(void)
{
    void *page =
        mmap(NULL, sizeof(*kept), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, sizeof(*kept), NO_ADVICE) != 0 &&
        madvise(page, sizeof(*kept), MADV_WIPEONFORK) == 0)
        kept = page;
}

pid_t zr_pid(void)
{
    if (kept == NULL)
        return getpid();
    pid_t pid = atomic_load_explicit(kept, memory_order_relaxed);
    if (pid == 0) {
        pid = getpid();
        atomic_store_explicit(kept, pid, memory_order_relaxed);
    }
    return pid;
}
