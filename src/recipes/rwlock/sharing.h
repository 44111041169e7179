#ifndef ZR_SHARING_H
#define ZR_SHARING_H

/*
 * sharing.h: how a contender shows that it shares what it holds. A reader shows it by the stem of
 * its node's name. A writer that begins to share (downgrade.c) puts a mark into its node's data, in
 * front of the user's data. The mark contains the creation zxid of the node, which no user can know
 * before the node exists, so a user's data are never taken for a mark. Code that rewrites the data
 * of a holder's node has to put the mark in front again. Thread: the host's.
 */

#include "recipes/hold.h"

extern const struct zr_stem zr_reader_stem, zr_writer_stem;

/* In the word of a writer's node: the writer shares. */
#define ZR_SAYS_SHARES ZR_SAYS_OWN(1)

/* zr_enough of a reader: the writer ahead shares. */
bool zr_sharing_is_enough(const struct zr_task *task, int64_t word);

/* gives: the data with the mark in front, freed with zr_free; its `at` is null when memory is
   exhausted. borrows: data. */
struct zr_bytes zr_mark_data(struct zr_bytes data, int64_t czxid);

/* True if these data carry the mark of the node with this creation zxid. */
bool zr_marked(struct zr_bytes data, int64_t czxid);

/* The user's part of the data. Points into data. */
struct zr_bytes zr_unmarked(struct zr_bytes data, int64_t czxid);

/* Starts hold:downgrade for a hold of a read/write lock (downgrade.c). */
enum zr_status zr_downgrade_start(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task);

#endif
