#ifndef ZR_HASH_H
#define ZR_HASH_H

/* hash.h: FNV-1a, for tables and to recognize a text. It protects no secret. Any thread. */

#include <stddef.h>
#include <stdint.h>

static inline uint32_t zr_hash32(const char *at, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)at[i]) * 16777619u;
    return hash;
}

/* It is wide enough to treat two texts with the same hash as equal. */
static inline uint64_t zr_hash64(const char *at, size_t length)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)at[i]) * 1099511628211u;
    return hash;
}

#endif
