#ifndef ZR_SPEC_ORACLE_H
#define ZR_SPEC_ORACLE_H

/*
 * oracle.h: rules for every history, and parts from which a recipe makes its own rules. A violated
 * rule calls wrong(). The rules are checked after each transaction of the leader, which changes
 * znodes, and after each dispatch, which changes holds.
 *
 * There are two exceptions. If sessions are killed from outside (shape.kills), no lease can be
 * trusted, and a hold of a killed session counts as over: only the token protects then. If another
 * client deletes the znode of a waiter, that waiter is still granted, without a further request,
 * when the contender ahead of it leaves; this hold counts as over too.
 */

#include "history.h"

/* ---- When the harness asks ------------------------------------------------------------------- */

/* Checks the rules about all holds that are valid now. */
void check_holds(void);

/* Notes each new grant and asks the recipe to check it. */
void check_grants(void);

/* Marks the tries under way that may fail because another contender is there. */
void watch_tries(void);

/* The observer of the world: runs after each transaction of the leader. */
void saw(void *with, int64_t zxid);

/* True if a try in this mode that begins now may fail, because a server may lag behind. */
bool was_occupied(int mode);

/* Call it when the process has nothing left to do: then its contenders must know which waits and
   holds are over. */
void check_told(struct process *process);

/* The attempt has ended with this status: checks that it may. */
void check_end(const struct contender *contender, enum zr_status status);

/* ---- What recipes use ------------------------------------------------------------------------ */

/* The hold that the contender has or tries to get; borrowed; or null. */
struct zr_hold *hold_of(const struct contender *contender);

/* True if the contender has a hold that says it is valid. A violation if the hold's znode does not
   exist then. */
bool check_valid(const struct contender *contender);

/* Reports a violation: both hold it at one instant. */
void hold_at_once(const struct contender *one, const struct contender *other);

/* For recipe.held: there is at most one holder. */
void one_at_a_time(struct contender *const *holders, int count);

/* Counts znodes of the recipe's directory. */
struct census {
    const struct zr_seat *but; /* does not count this contender's znode; or null */
    const char *kind;          /* the name contains this */
    int64_t before;            /* created before this czxid */
    int count;
};

/* A visitor for zr_sim_walk; `with` is a struct census. */
void count_node(void *with, const struct zr_sim_view *view);

/* The number of znodes with `kind` in their name in the directory, without `own` (may be null). */
int others(const struct zr_seat *own, const char *kind);

/* For recipe.granted: no older znode has `kind` in its name. */
void nobody_before(const struct contender *contender, const struct zr_hold *hold, const char *kind);

/* For recipe.granted: its token is higher than all tokens before. */
void youngest_grant(const struct zr_hold *hold);

/* For recipe.may_end_with: true if there was a reason for this status. */
bool usual_end(const struct contender *contender, enum zr_status status);

#endif
