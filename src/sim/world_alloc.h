#ifndef ZR_SIM_WORLD_ALLOC_H
#define ZR_SIM_WORLD_ALLOC_H

/*
 * world_alloc.h: memory of the simulated servers and of the network. It is separate from
 * core/alloc.h, whose allocations specs make fail in order to test the engine; the servers must not
 * notice that. If memory is really exhausted, the process ends: a world cannot continue without
 * memory.
 */

#include <stdlib.h>
#include <string.h>

/* gives: zeroed memory, never null. */
static inline void *zr_sim_alloc(size_t size)
{
    void *memory = malloc(size > 0 ? size : 1);
    if (memory == NULL)
        abort();
    /* This keeps the compiler from turning malloc and memset into calloc. glibc's calloc does not
       use the thread's cache of blocks, so it is slower. */
    __asm__("" : "+r"(memory));
    return memset(memory, 0, size);
}

/* takes: what zr_sim_alloc or a copy gave, or null. */
static inline void zr_sim_release(void *memory)
{
    free(memory);
}

/* gives: a copy with a NUL behind it. borrows: from. */
static inline char *zr_sim_copy(const void *from, size_t length)
{
    char *copy = zr_sim_alloc(length + 1);
    if (length > 0)
        memcpy(copy, from, length);
    return copy;
}

/* gives: a copy. borrows: from. */
static inline char *zr_sim_copy_string(const char *from)
{
    return zr_sim_copy(from, strlen(from));
}

/* gives: an array with room for twice as many. takes: from, of `count` members. */
static inline void *zr_sim_grow(void *from, size_t count, size_t *room, size_t size)
{
    *room = *room > 0 ? *room * 2 : 8;
    void *grown = zr_sim_alloc(*room * size);
    if (count > 0)
        memcpy(grown, from, count * size);
    free(from);
    return grown;
}

#endif
