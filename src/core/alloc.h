#ifndef ZR_ALLOC_H
#define ZR_ALLOC_H

/*
 * alloc.h: all allocations go through here, so that specs can make any of them fail and can count
 * what is left. Any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* gives: zeroed memory, or null if memory is exhausted (or if this allocation was chosen to
   fail). */
void *zr_alloc(size_t size);

/* True if there is memory for a block of this size. To be asked before code that is not ours
   allocates such a block and does not check. */
bool zr_alloc_possible(size_t size);

/* takes: what zr_alloc gave, or null. */
void zr_free(void *memory);

/* gives: a copy with a NUL behind it, or null when there is no memory. borrows: from. */
char *zr_copy(const void *from, size_t length);

/* gives: a copy of a C string, or null when there is no memory. borrows: from. */
char *zr_copy_string(const char *from);

/* gives: zeroed memory for a secret, in pages of its own, or null. Core dumps leave these pages
   out, and they are never written to a swap device if the system's limit for locked memory allows
   it. */
void *zr_secret_alloc(size_t size);

/* As zr_copy_string, into memory for a secret. */
char *zr_secret_copy_string(const char *from);

/* takes: what one of these two gave, or null. Overwrites it. */
void zr_secret_free(void *secret);

/* Makes the n-th allocation from now on fail, once (1 is the next one). 0: none fails. */
void zr_alloc_fail(int64_t n);

/* True if the failure that zr_alloc_fail asked for last has happened. */
bool zr_alloc_failed(void);

/* Blocks and bytes that are alive now. */
int64_t zr_alloc_blocks(void);
int64_t zr_alloc_bytes(void);

#endif
