#ifndef ZR_SHARING_H
#define ZR_SHARING_H

/*
 * sharing.h: who shares what it holds, and how others know. A reader says so by the stem of its
 * node's name. A writer that begins to share (downgrade.c) says so by a mark in its node's data: it
 * stands in front of the user's data and carries the creation zxid of its own node, which nobody
 * can know before the node is there, so no user's data can be taken for one. Whoever rewrites the
 * data of a holder's node has to put the mark in front again. Thread: the host's.
 */

#include "recipes/hold.h"

extern const struct zr_stem zr_reader_stem, zr_writer_stem;

/* The seat's holder shares: it reads, or has said ZR_SAYS_SHARES. */
#define ZR_SAYS_SHARES ZR_SAYS_OWN(1)
bool zr_shares(const struct zr_seat *seat);

/* zr_enough: for a reader it is enough that the writer ahead shares. */
bool zr_sharing_is_enough(const struct zr_task *task, int64_t word);

/* gives: the data with the mark in front, freed with zr_free; its `at` is null when memory is
   exhausted. borrows: data. */
struct zr_bytes zr_mark_data(struct zr_bytes data, int64_t czxid);

/* True when these data of the node with this creation zxid carry its mark. */
bool zr_marked(struct zr_bytes data, int64_t czxid);

/* The user's part of the data. Points into data. */
struct zr_bytes zr_unmarked(struct zr_bytes data, int64_t czxid);

#endif
