#ifndef ZR_SUCCESSOR_H
#define ZR_SUCCESSOR_H

/*
 * successor.h: how a leader names the member that shall lead next. The leader's data end with the
 * number in the name of the successor's node. Candidates ahead of that node step aside
 * (election.c). The data are written by Lua (lua/zkrecipes/recipes/election/value.lua). Thread:
 * the host's.
 */

#include "core/seat.h"

/* The stem of candidates in a queue. */
extern const struct zr_stem zr_candidate_stem;

/* The number of the successor in these data of a leader's node; -1: none. */
int64_t zr_successor_in(struct zr_bytes data);

/* The data without it. Points into data. */
struct zr_bytes zr_without_successor(struct zr_bytes data);

/* The word of a leader's node that names this successor; -1: none. */
int64_t zr_successor_word(int64_t number);

/* zr_enough of a candidate: the leader is just ahead, and names a successor behind the
   candidate. */
bool zr_named_behind(const struct zr_task *task, int64_t word);

#endif
