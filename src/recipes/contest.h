#ifndef ZR_CONTEST_H
#define ZR_CONTEST_H

/*
 * contest.h: what locks, read/write locks and elections have in common: a directory in which
 * contenders queue up, and an attempt that waits there until nobody who keeps it out is ahead.
 * What each of them is for, and calls its things, is in its own file. Thread: the host's.
 */

#include "recipes/hold.h"

/* First member of the struct of a recipe. */
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
    bool shares;       /* it is not kept out by others of its stem, nor by what says `enough` */
    zr_enough *enough; /* what ends its wait though the one ahead is still there; null: nothing */
    zr_step *told;     /* the step after that */
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

/* Starts an attempt; the only argument of the method is the timeout, and 0 is to try. gives: task,
   whose hold is zr_hold_of(task). Errors: as zr_session_usable, ZR_NO_MEMORY. */
enum zr_status zr_contest_start(struct zr_contest *contest, const struct zr_role *role,
                                const struct zr_arg *timeout, struct zr_task **task);

/* For other ways to wait: makes the attempt and starts it with one of these steps. */
enum zr_status zr_contest_begin(struct zr_contest *contest, const struct zr_role *role,
                                const struct zr_stem *stem, const struct zr_arg *timeout,
                                struct zr_next try_first, struct zr_next wait_first,
                                struct zr_task **task);

/* Steps: of a try that came too late; of one that has no seat, or has left it; of one that nobody
   keeps out any more. */
void zr_contest_held_by_another(struct zr_task *task);
void zr_contest_claim(struct zr_task *task);
void zr_contest_grant(struct zr_task *task);

/* Methods and properties that all of them have. */
enum zr_status zr_contest_cancel(struct zr_object *self, struct zr_args *args,
                                 struct zr_sink *sink);
enum zr_status zr_contest_attempts(struct zr_object *self, struct zr_args *args,
                                   struct zr_sink *sink);
enum zr_status zr_contest_contenders(struct zr_object *self, struct zr_args *args,
                                     struct zr_task **task);

/* The same, of those alone that wait with this stem. `attempts` is what the last listings said; it
   asks no server. */
void zr_contest_cancel_of(struct zr_contest *contest, const struct zr_stem *stem,
                          struct zr_sink *sink);
void zr_contest_attempts_of(const struct zr_contest *contest, const struct zr_stem *stem,
                            struct zr_sink *sink);

void zr_contest_get_path(struct zr_object *self, struct zr_sink *sink);
void zr_contest_get_session(struct zr_object *self, struct zr_sink *sink);

#endif
