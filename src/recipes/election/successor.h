#ifndef ZR_SUCCESSOR_H
#define ZR_SUCCESSOR_H

/*
 * successor.h: how a leader names the member that shall lead next. The leader's data end with the
 * number in the name of the successor's node (value.h). Candidates ahead of that node step aside
 * (election.c). Thread: the host's.
 */

#include "core/seat.h"

/* The stem of candidates in a queue. */
extern const struct zr_stem zr_candidate_stem;

/* The word of a leader's node that names this successor; -1: none. */
int64_t zr_successor_word(int64_t number);

/* zr_enough of a candidate: the leader is just ahead, and names a successor behind the
   candidate. */
bool zr_named_behind(const struct zr_task *task, int64_t word);

#endif
