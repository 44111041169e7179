#include "core/table.h"

#include <string.h>

#include "core/alloc.h"
#include "core/hash.h"

#define FIRST_SIZE 16

static struct zr_node **bucket(const struct zr_table *table, uint32_t hash)
{
    return &table->buckets[hash & (table->size - 1)];
}

static enum zr_status grow(struct zr_table *table)
{
    struct zr_table larger = {.size = table->size == 0 ? FIRST_SIZE : table->size * 2};
    larger.buckets = zr_alloc(larger.size * sizeof(*larger.buckets));
    if (larger.buckets == NULL)
        return ZR_NO_MEMORY;
    for (size_t i = 0; i < table->size; i++)
        while (table->buckets[i] != NULL) {
            struct zr_node *node = table->buckets[i];
            table->buckets[i] = node->next;
            node->next = *bucket(&larger, node->hash);
            *bucket(&larger, node->hash) = node;
        }
    larger.count = table->count;
    zr_free(table->buckets);
    *table = larger;
    return ZR_OK;
}

enum zr_status zr_table_add(struct zr_table *table, struct zr_node *node, const char *key)
{
    /* If the table cannot grow, it is slow but correct. Only the first buckets are really
       needed. */
    if (table->count >= table->size && grow(table) != ZR_OK && table->size == 0)
        return ZR_NO_MEMORY;
    node->key = key;
    node->hash = zr_hash32(key, strlen(key));
    node->next = *bucket(table, node->hash);
    *bucket(table, node->hash) = node;
    table->count++;
    table->scan = 0;
    return ZR_OK;
}

struct zr_node *zr_table_find(const struct zr_table *table, const char *key)
{
    if (table->count == 0)
        return NULL;
    uint32_t hash = zr_hash32(key, strlen(key));
    struct zr_node *node = *bucket(table, hash);
    while (node != NULL && (node->hash != hash || strcmp(node->key, key) != 0))
        node = node->next;
    return node;
}

/* An empty table shrinks to its first size; if there is no memory for that, it stays. */
static void shrink(struct zr_table *table)
{
    struct zr_node **buckets = zr_alloc(FIRST_SIZE * sizeof(*buckets));
    if (buckets == NULL)
        return;
    zr_free(table->buckets);
    *table = (struct zr_table){.buckets = buckets, .size = FIRST_SIZE};
}

void zr_table_remove(struct zr_table *table, struct zr_node *node)
{
    struct zr_node **link = bucket(table, node->hash);
    while (*link != node)
        link = &(*link)->next;
    *link = node->next;
    node->next = NULL;
    table->count--;
    if (table->count == 0 && table->size > FIRST_SIZE)
        shrink(table);
}

struct zr_node *zr_table_any(struct zr_table *table)
{
    if (table->count == 0)
        return NULL;
    while (table->buckets[table->scan] == NULL)
        table->scan++;
    return table->buckets[table->scan];
}

void zr_table_fini(struct zr_table *table)
{
    zr_free(table->buckets);
    *table = (struct zr_table){.buckets = NULL};
}
