#ifndef ZR_SPEC_ALONE_H
#define ZR_SPEC_ALONE_H

/*
 * alone.h: the engine asks for its process's id at each step, to see whether it was forked. A program
 * of histories never forks; without that system call it is a sixth faster, and that of leases a third.
 */
#include <unistd.h>

pid_t getpid(void)
{
    return 1;
}

#endif
