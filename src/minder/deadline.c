/*
 * The minder maps the file for writing and then seals it, so that no process of the command can
 * change it. The digits are written from the last to the first. So one who reads them from the
 * first to the last finds first digits of an old time and last digits of a new one at worst, and
 * such a time is not later than the new one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "minder/deadline.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LENGTH 21 /* 16 digits or spaces, a point, three digits, a newline */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

static char *text;

/* gives: a descriptor that only reads, and that the command inherits; or -1. */
static int reader_of(int file)
{
    char path[32], number[16];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    int reader = open(path, O_RDONLY);
    snprintf(number, sizeof number, "%d", reader);
    return reader >= 0 && setenv("ZKR_DEADLINE_FD", number, 1) == 0 ? reader : -1;
}

bool zr_deadline_open(void)
{
    int file = memfd_create("zkr-deadline", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0 || ftruncate(file, LENGTH) != 0)
        return false;
    text = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (text == MAP_FAILED || fcntl(file, F_ADD_SEALS, SEALS) != 0)
        return false;
    return reader_of(file) >= 0;
}

void zr_deadline_write(int64_t deadline_us)
{
    char next[LENGTH + 1];
    int64_t ms = deadline_us > 0 ? deadline_us / 1000 : 0;
    snprintf(next, sizeof next, "%16lld.%03d\n", (long long)(ms / 1000), (int)(ms % 1000));
    for (int i = LENGTH - 1; i >= 0; i--)
        __atomic_store_n(&text[i], next[i], __ATOMIC_RELEASE);
}
