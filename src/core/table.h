#ifndef ZR_TABLE_H
#define ZR_TABLE_H

/*
 * table.h: an intrusive hash table from paths to the structs that belong to them. A node is the
 * member of the struct; its key must not change while it is in the table. Thread: the host's.
 */

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

struct zr_node {
    struct zr_node *next;
    uint32_t hash;
    const char *key; /* borrowed: belongs to the struct */
};

struct zr_table {
    struct zr_node **buckets;
    size_t size, count; /* size: a power of two, or 0 while it is empty */
    size_t scan;        /* no node stands in a bucket before this one */
};

/* keeps: node, until removed. Errors: ZR_NO_MEMORY. */
enum zr_status zr_table_add(struct zr_table *table, struct zr_node *node, const char *key);

/* The node of this key, or null. */
struct zr_node *zr_table_find(const struct zr_table *table, const char *key);

/* The node must be in the table. Never fails. */
void zr_table_remove(struct zr_table *table, struct zr_node *node);

/* Any node, or null if the table is empty: for emptying a table. */
struct zr_node *zr_table_any(struct zr_table *table);

/* Frees the buckets; the table is empty again. */
void zr_table_fini(struct zr_table *table);

#endif
