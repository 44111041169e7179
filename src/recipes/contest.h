#ifndef ZR_CONTEST_H
#define ZR_CONTEST_H

/*
 * contest.h: what locks, read/write locks and elections share: a directory in which contenders
 * queue up, and an attempt that waits there until no conflicting contender is ahead. Each recipe's
 * own file says what it is for and names its things. Thread: the host's.
 */

#include "recipes/hold.h"

/* First member of a recipe's struct. */
struct zr_contest {
    struct zr_object object;
    struct zr_session *session; /* used */
    struct zr_list attempts;    /* struct zr_task, by in_owner */
    struct zr_bytes data;       /* of the contenders' nodes */
    char *path;                 /* the user's */
    char *dir;                  /* with the namespace */
};

/* How one kind of attempt takes part. Static. */
struct zr_role {
    struct zr_task_kind kind; /* ZR_CONTEST_KIND */
    const struct zr_stem *stem;
    bool shares; /* it has no conflict with contenders of its stem, nor with one whose word is
                    `enough` */
    zr_enough
        *enough; /* which word of the node ahead ends the wait before that node goes; null: none */
    zr_step *told; /* the step after that */
};

/* The task kind of an attempt, see ZR_HOLD_KIND. */
#define ZR_CONTEST_KIND(method) ZR_HOLD_KIND(method, zr_hold_clean)

/*
 * gives: a zeroed object of this size that begins with a contest, with one reference.
 * borrows: path, data. Errors: ZR_NO_MEMORY.
 */
enum zr_status zr_contest_new(size_t size, const struct zr_class *class, struct zr_session *session,
                              const char *path, struct zr_bytes data, struct zr_object **object);
void zr_contest_free(struct zr_object *self); /* for its class */

/* Starts an attempt. The method's only argument is the timeout; 0 is to try. gives: task; its hold
   is zr_hold_of(task). Errors: as zr_session_usable, ZR_NO_MEMORY. */
enum zr_status zr_contest_start(struct zr_contest *contest, const struct zr_role *role,
                                const struct zr_arg *timeout, struct zr_task **task);

/* For other ways to wait: makes the attempt and starts it with one of these steps. */
enum zr_status zr_contest_begin(struct zr_contest *contest, const struct zr_role *role,
                                const struct zr_stem *stem, const struct zr_arg *timeout,
                                struct zr_next try_first, struct zr_next wait_first,
                                struct zr_task **task);

/* Steps. held_by_another: a try found a conflicting contender. claim: the attempt has no seat, or
   has left it. grant: no conflicting contender is ahead. */
void zr_contest_held_by_another(struct zr_task *task);
void zr_contest_claim(struct zr_task *task);
void zr_contest_grant(struct zr_task *task);

/* Methods and properties of all contests. */
enum zr_status zr_contest_cancel(struct zr_object *self, struct zr_args *args,
                                 struct zr_sink *sink);
enum zr_status zr_contest_attempts(struct zr_object *self, struct zr_args *args,
                                   struct zr_sink *sink);

/* The method `contenders` or `candidates`. keeps: method, see zr_contenders_start. */
enum zr_status zr_contest_contenders(struct zr_object *self, const char *method,
                                     struct zr_args *args, struct zr_task **task);

/* cancel_of, attempts_of: only for the attempts that wait with this stem. `attempts` reports what
   the last listings showed; it sends no request. */
void zr_contest_cancel_of(struct zr_contest *contest, const struct zr_stem *stem,
                          struct zr_sink *sink);
void zr_contest_attempts_of(const struct zr_contest *contest, const struct zr_stem *stem,
                            struct zr_sink *sink);

void zr_contest_get_path(struct zr_object *self, struct zr_sink *sink);
void zr_contest_get_session(struct zr_object *self, struct zr_sink *sink);

#endif
