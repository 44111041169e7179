#ifndef ZR_PID_H
#define ZR_PID_H

/* pid.h: which process this is, without a system call. Any thread. */

#include <sys/types.h>

/* As getpid(). */
pid_t zr_pid(void);

#endif
