#ifndef ZR_CONTEST_H
#define ZR_CONTEST_H

/*
 * contest.h: what locks, read/write locks and elections share: a directory in which contenders
 * queue up, and an attempt that waits there until no conflicting contender is ahead. Each recipe's
 * own file says what it is for and names its objects. Thread: the host's.
 */

#include "recipes/contest_object.h"
#include "recipes/hold.h"

/* The stem of a lock's contenders, for locks inside of other recipes too. */
extern const struct zr_stem zr_lock_stem;

/* How one kind of attempt takes part. Static. */
struct zr_role {
    struct zr_task_kind kind; /* ZR_CONTEST_KIND */
    const struct zr_stem *stem;
    size_t size;      /* see zr_hold_new; 0: of struct zr_hold */
    bool shares;      /* it has no conflict with contenders of its stem, nor with one whose word is
                         `enough` */
    bool many_follow; /* others than the next in line may be granted when it goes */
    zr_enough
        *enough; /* which word of the node ahead ends the wait before that node goes; null: none */
    zr_step *told; /* the step that follows such an end */
};

/* The task kind of an attempt, see ZR_HOLD_KIND. */
#define ZR_CONTEST_KIND(method) ZR_HOLD_KIND(method, zr_hold_clean)

/* Starts an attempt. The method's only argument is the timeout; 0 is to try. gives: task; its hold
   is zr_hold_of(task). Errors: as zr_session_usable, ZR_NO_MEMORY. */
enum zr_status zr_contest_start(struct zr_contest *contest, const struct zr_role *role,
                                const struct zr_arg *timeout, struct zr_task **task);

/* For other ways to wait: makes the attempt and starts it with one of these steps. */
enum zr_status zr_contest_begin(struct zr_contest *contest, const struct zr_role *role,
                                const struct zr_stem *stem, const struct zr_arg *timeout,
                                struct zr_next try_first, struct zr_next wait_first,
                                struct zr_task **task);

/* Steps. held_by_another: a try found a conflicting contender. contend: the attempt has no seat, or
   has left it. grant: no conflicting contender is ahead. */
void zr_contest_held_by_another(struct zr_task *task);
void zr_contest_contend(struct zr_task *task);
void zr_contest_grant(struct zr_task *task);

#endif
