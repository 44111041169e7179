/* Entries of the same hash form a chain. The table doubles when it is full. */
#include "sim/index.h"

#include <string.h>

#include "core/hash.h"
#include "sim/world_alloc.h"

static uint32_t hash_of(const char *key, size_t length)
{
    uint32_t hash = zr_hash32(key, length);
    return hash ^ (hash >> 15);
}

static struct zr_sim_entry **bucket_of(const struct zr_sim_index *index, uint32_t hash)
{
    return &index->buckets[hash & (index->size - 1)];
}

static void link_in(struct zr_sim_index *index, struct zr_sim_entry *entry)
{
    struct zr_sim_entry **bucket = bucket_of(index, entry->hash);
    entry->next = *bucket;
    *bucket = entry;
}

static void grow(struct zr_sim_index *index)
{
    struct zr_sim_index old = *index;
    index->size = old.size > 0 ? old.size * 2 : 16;
    index->buckets = zr_sim_alloc(index->size * sizeof(struct zr_sim_entry *));
    for (size_t i = 0; i < old.size; i++)
        for (struct zr_sim_entry *entry = old.buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            link_in(index, entry);
        }
    zr_sim_release(old.buckets);
}

void zr_sim_index_add(struct zr_sim_index *index, struct zr_sim_entry *entry, const char *key,
                      size_t length)
{
    if (index->count >= index->size)
        grow(index);
    entry->key = key;
    entry->length = length;
    entry->hash = hash_of(key, length);
    link_in(index, entry);
    index->count++;
}

struct zr_sim_entry *zr_sim_index_find(const struct zr_sim_index *index, const char *key,
                                       size_t length)
{
    if (index->size == 0)
        return NULL;
    uint32_t hash = hash_of(key, length);
    struct zr_sim_entry *entry = *bucket_of(index, hash);
    while (entry != NULL &&
           (entry->hash != hash || entry->length != length || memcmp(entry->key, key, length) != 0))
        entry = entry->next;
    return entry;
}

void zr_sim_index_remove(struct zr_sim_index *index, struct zr_sim_entry *entry)
{
    struct zr_sim_entry **place = bucket_of(index, entry->hash);
    while (*place != entry)
        place = &(*place)->next;
    *place = entry->next;
    index->count--;
}

struct zr_sim_entry *zr_sim_index_next(const struct zr_sim_index *index,
                                       const struct zr_sim_entry *entry)
{
    if (entry != NULL && entry->next != NULL)
        return entry->next;
    size_t i = entry != NULL ? (entry->hash & (index->size - 1)) + 1 : 0;
    while (i < index->size && index->buckets[i] == NULL)
        i++;
    return i < index->size ? index->buckets[i] : NULL;
}

void zr_sim_index_fini(struct zr_sim_index *index, void (*drop)(struct zr_sim_entry *entry))
{
    for (size_t i = 0; i < index->size; i++)
        for (struct zr_sim_entry *entry = index->buckets[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            drop(entry);
        }
    zr_sim_release(index->buckets);
    *index = (struct zr_sim_index){0};
}
