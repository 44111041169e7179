#ifndef ZR_SIM_INDEX_H
#define ZR_SIM_INDEX_H

/*
 * index.h: an intrusive hash table from paths to the structs that belong to them: znodes, watches.
 * The entry is the first member of the struct.
 */

#include <stddef.h>
#include <stdint.h>

struct zr_sim_entry {
    struct zr_sim_entry *next;
    uint32_t hash;
    size_t length;
    const char *key; /* borrowed: belongs to the struct */
};

struct zr_sim_index {
    struct zr_sim_entry **buckets;
    size_t size, count; /* size: a power of two, or 0 */
};

/* keeps: entry, until removed. The key must not be in the index yet. */
void zr_sim_index_add(struct zr_sim_index *index, struct zr_sim_entry *entry, const char *key,
                      size_t length);

/* The entry of this key, or null. */
struct zr_sim_entry *zr_sim_index_find(const struct zr_sim_index *index, const char *key,
                                       size_t length);

/* The entry must be in the index. */
void zr_sim_index_remove(struct zr_sim_index *index, struct zr_sim_entry *entry);

/*
 * The entry after this one, or the first for null; null at the end. The order is the same for the
 * same history. Nothing may be added or removed during the walk.
 */
struct zr_sim_entry *zr_sim_index_next(const struct zr_sim_index *index,
                                       const struct zr_sim_entry *entry);

/* Calls `drop`, which may free the entry, for each entry; then the index is empty. */
void zr_sim_index_fini(struct zr_sim_index *index, void (*drop)(struct zr_sim_entry *entry));

#endif
