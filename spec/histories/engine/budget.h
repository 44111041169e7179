#ifndef ZR_SPEC_BUDGET_H
#define ZR_SPEC_BUDGET_H

/*
 * budget.h: how many requests a recipe may send when nothing disturbs it. The recipe's `spend` is
 * composed of these. Three processes without contenders are connected; process 0 acts if none is
 * given.
 */

#include "tally.h"

/* Runs the recipe's `spend`, and counts it as one history. */
void try_budget(const struct recipe *recipe);

struct requests {
    int64_t creates, lists, deletes, gets, looks, sets, multis, syncs;
};

/* Requests that were sent before do not count. */
void count_from_here(void);

/* Exactly these were sent since the last count; a violation otherwise. Counts from here. */
void spent(const char *what, struct requests budget);

/* Lets the world run, with hosts that come back every 100 us. */
void calm_for(int64_t us);

/* Begins an attempt and lets it get as far as it can. A negative limit is none. Gives the task. */
struct zr_task *begin_calmly(int process, int mode, int64_t limit_us);

/* Takes the task, which must have ended. Gives what was granted, or null. */
struct zr_object *end_calmly(struct zr_task *task);

/* Both, in process 0. */
struct zr_object *acquire_calmly(int mode, int64_t limit_us);

/* Takes the task and drops it. */
void give_up_calmly(struct zr_task *task);

/* Takes the hold and releases it. Null is a violation: what is free was not granted. */
void release_calmly(struct zr_object *hold);

#endif
