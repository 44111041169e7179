#ifndef ZR_MINDER_DEADLINE_H
#define ZR_MINDER_DEADLINE_H

/*
 * deadline.h: a file in memory in which the command reads until when it may run: seconds of
 * CLOCK_BOOTTIME with three decimals, right-aligned, and a newline. The command finds its
 * descriptor's number in the environment variable ZKR_DEADLINE_FD.
 */

#include <stdbool.h>
#include <stdint.h>

/* Makes the file, which the command inherits, and sets the variable. False: errno says why. */
bool zr_deadline_open(void);

/*
 * Writes the deadline. If it grows from write to write, one who reads meanwhile from left to right,
 * as every read does, never reads a later time than the one that is written.
 */
void zr_deadline_write(int64_t deadline_us);

#endif
