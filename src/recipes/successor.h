#ifndef ZR_SUCCESSOR_H
#define ZR_SUCCESSOR_H

/*
 * successor.h: how a leader says who shall lead after it: behind its value, by the number in the
 * name of the successor's node. Whoever stands before that one steps aside (election.c). What
 * writes it is in Lua (lua/zkrecipes/successor.lua). Thread: the host's.
 */

#include "core/seat.h"

/* Of candidates who stand in a queue. */
extern const struct zr_stem zr_candidate_stem;

/* The number of the successor that these data of a leader's node name; -1: none. */
int64_t zr_successor_in(struct zr_bytes data);

/* The data without it. Points into data. */
struct zr_bytes zr_without_successor(struct zr_bytes data);

/* The word of a leader's node that names this one; -1: none. */
int64_t zr_successor_word(int64_t number);

/* zr_enough: for a candidate it is enough that the one ahead, who leads, names a successor behind
   it. */
bool zr_named_behind(const struct zr_task *task, int64_t word);

#endif
