#ifndef ZR_PROGRAM_H
#define ZR_PROGRAM_H

/* program.h: the file of the guardian's program, found when the module is loaded. Any thread. */

#include <stdbool.h>
#include <stddef.h>

/* Why it could not be found and opened then, an errno, or 0. */
int zr_program_error(void);

/* Its absolute path; or, if it could not be found, its name. Static. */
const char *zr_program_path(void);

/* The absolute path of another file in the same folder, into room for size bytes. False: that
   folder could not be found when the module was loaded, or there is too little room. */
bool zr_program_beside(const char *name, char *path, size_t size);

/* gives: a descriptor of the program, or -1, and then errno says why. May wait for a disk. */
int zr_program_get(void);

/* gives: a copy of fd above the numbers that a guardian's descriptors get (guardian/order.h), or
   -1, and then errno says why. takes: fd, which may be -1. */
int zr_program_lift(int fd);

#endif
