#ifndef ZR_VALUE_H
#define ZR_VALUE_H

/*
 * value.h: the data of a candidate's znode: its value, and marks that others get by the same read.
 *
 *   <rank>\n         before the value, in an election by rank
 *   \0ready          after the value, once the leader is ready
 *   \0next-<number>  after that, while the leader resigns to a named successor: the ten digits at
 *                    the end of the name of the successor's seat
 *   \0value          directly after a value that itself ends with one of these three marks, so
 *                    that its end is not read as a mark
 *
 * All other values are stored as they are, so that other programs can read them. Pure functions,
 * but for zr_value_write. Any thread.
 */

#include <stdbool.h>

#include "core/names.h"
#include "core/zk.h"

struct zr_value {
    struct zr_bytes value; /* null: another program has stored null */
    bool ranked, ready;
    int64_t rank;      /* if ranked; up to +-2^53 */
    int64_t successor; /* its number; -1: none is named */
};

/* Reads the data of a seat. by_rank: of an election by rank. The value points into data. */
struct zr_value zr_value_read(struct zr_bytes data, bool by_rank);

/* gives: the data, of this length; null when memory is exhausted. */
char *zr_value_write(const struct zr_value *value, size_t *length);

/* Reads the rank before a value. Returns how many bytes it takes with its newline; 0: there is
   none. */
size_t zr_rank_read(struct zr_bytes data, int64_t *rank);

/* The number of the successor that these data name; -1: none. */
int64_t zr_successor_in(struct zr_bytes data);

/* The data without the successor. Points into data. */
struct zr_bytes zr_without_successor(struct zr_bytes data);

#endif
