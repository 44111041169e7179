#ifndef ZR_SPEC_BUDGET_H
#define ZR_SPEC_BUDGET_H

/*
 * budget.h: how many requests a recipe may send in a world without faults. A recipe's `spend` is
 * made of these functions. Three processes without contenders are connected. A function without a
 * process number uses process 0.
 */

#include "tally.h"

/* Runs the recipe's `spend` and counts it as one history. */
void try_budget(const struct recipe *recipe);

struct requests {
    int64_t creates, lists, deletes, gets, looks, sets, multis, syncs;
};

/* Starts to count: ignores all requests sent so far. */
void count_from_here(void);

/* Calls wrong() unless exactly these requests were sent since the last count. Starts to count
   again. */
void spent(const char *what, struct requests budget);

/* Runs the world for this time; every process dispatches every 100 us. */
void calm_for(int64_t us);

/* Starts an attempt and runs the world until it can get no further. limit_us below 0: no limit.
   gives: the task. */
struct zr_task *begin_calmly(int process, int mode, int64_t limit_us);

/* takes: the task, which must have ended. gives: the hold, or null if none was granted. */
struct zr_object *end_calmly(struct zr_task *task);

/* begin_calmly and end_calmly, in process 0. */
struct zr_object *acquire_calmly(int mode, int64_t limit_us);

/* takes: the task; gives the attempt up. */
void give_up_calmly(struct zr_task *task);

/* takes: the hold, which is released. Null is a violation: a free lock was not granted. */
void release_calmly(struct zr_object *hold);

#endif
