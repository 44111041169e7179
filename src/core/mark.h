#ifndef ZR_MARK_H
#define ZR_MARK_H

/*
 * mark.h: how a holder says, in the data of its node, that it shares from now on what it had
 * alone. The mark stands in front of the user's data and carries the creation zxid of its own
 * node, which nobody can know before the node is there: no user's data can be taken for one.
 * Whoever rewrites the data of a holder's node has to put the mark in front again.
 *
 * And how a leader says who shall lead after it: behind its value, by the number in the name of
 * the successor's node. Any thread.
 */

#include "core/zk.h"

/* gives: the data with the mark in front, freed with zr_free; its `at` is null when memory is
   exhausted. borrows: data. */
struct zr_bytes zr_mark_data(struct zr_bytes data, int64_t czxid);

/* True when these data of the node with this creation zxid carry its mark. */
bool zr_marked(struct zr_bytes data, int64_t czxid);

/* The user's part of the data. Points into data. */
struct zr_bytes zr_unmarked(struct zr_bytes data, int64_t czxid);

/* The number of the successor that these data of a leader's node name; -1: none. */
int64_t zr_successor_in(struct zr_bytes data);

/* The data without it. Points into data. */
struct zr_bytes zr_without_successor(struct zr_bytes data);

#endif
