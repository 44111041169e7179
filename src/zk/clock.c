#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/clock.h"

#include <limits.h>
#include <time.h>

int64_t zr_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int zr_poll_ms(int64_t wait_us)
{
    if (wait_us < 0)
        return -1;
    return wait_us / 1000 >= INT_MAX ? INT_MAX : (int)((wait_us + 999) / 1000);
}
