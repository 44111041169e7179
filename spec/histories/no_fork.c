/*
 * no_fork.c: a getpid() without a system call. The engine calls getpid() at each step to detect a
 * fork, but a program of histories never forks. This makes the histories of recipes a sixth faster,
 * and those of the lease a third.
 */
#include <unistd.h>

pid_t getpid(void)
{
    return 1;
}
