/*
 * no_fork.c: at each step the engine asks for the id of its process, to see whether it was forked.
 * A program of histories never forks. Without that system call the histories of recipes are a sixth
 * faster, and those of the lease a third.
 */
#include <unistd.h>

pid_t getpid(void)
{
    return 1;
}
