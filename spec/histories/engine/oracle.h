#ifndef ZR_SPEC_ORACLE_H
#define ZR_SPEC_ORACLE_H

/*
 * oracle.h: what must hold in every history, and parts of which a recipe composes its own rules. A
 * rule that does not hold calls wrong(). The rules are checked after each transaction of the
 * leader, in which znodes come and go, and after each dispatch, in which holds do.
 *
 * When sessions are killed from outside (shape.kills), no lease is true, and a hold of a killed
 * session counts as over: only the token protects then. So does a hold of a waiter whose znode was
 * deleted by another client: when the contender ahead leaves, that waiter takes over without a
 * further request. There are no other exceptions.
 */

#include "history.h"

/* ---- When the harness asks ------------------------------------------------------------------- */

/* Rules about everything that is held now. */
void check_holds(void);

/* Notes each grant that is new, and asks the recipe about it. */
void check_grants(void);

/* Notes which tries that are under way could fail for a good reason. */
void watch_tries(void);

/* The observer of the world: after each transaction of the leader. */
void saw(void *with, int64_t zxid);

/* True if a try in this mode that begins now may fail, because of what a server may still think. */
bool was_occupied(int mode);

/* The process has nothing left to do, so its contenders must know what is over. */
void check_told(struct process *process);

/* The attempt ends with this status. */
void check_end(const struct contender *contender, enum zr_status status);

/* ---- What recipes use ------------------------------------------------------------------------ */

/* What the contender holds or tries to get; borrowed; or null. */
struct zr_hold *hold_of(const struct contender *contender);

/* True if it has a hold that says it is valid; then its znode must be there. */
bool check_valid(const struct contender *contender);

/* A violation: both hold it at one instant. */
void hold_at_once(const struct contender *one, const struct contender *other);

/* For `held`: there is at most one holder. */
void one_at_a_time(struct contender *const *holders, int count);

/* Counts znodes of the recipe's directory. */
struct census {
    const struct zr_seat *but; /* without this one's, or null */
    const char *kind;          /* with this in their name */
    int64_t before;            /* created before this czxid */
    int count;
};

/* For zr_sim_walk, with a census. */
void count_node(void *with, const struct zr_sim_view *view);

/* How many znodes with `kind` in their name are in the directory, without `own`, which may be null.
 */
int others(const struct zr_seat *own, const char *kind);

/* For `granted`: no older znode has `kind` in its name. */
void nobody_before(const struct contender *contender, const struct zr_hold *hold, const char *kind);

/* For `granted`: its token is higher than all before. */
void youngest_grant(const struct zr_hold *hold);

/* For `may_end_with`: there was a reason for this status. */
bool usual_end(const struct contender *contender, enum zr_status status);

#endif
