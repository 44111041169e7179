#ifndef ZR_SEMAPHORE_H
#define ZR_SEMAPHORE_H

/* semaphore.h: what the files of this folder share. Thread: the host's. */

#include "recipes/contest.h"
#include "recipes/count_note.h"
#include "recipes/suspect.h"
#include "recipes/semaphore/capacity.h"
#include "recipes/semaphore/mark.h"
#include "recipes/semaphore/watch_set.h"

struct zr_semaphore {
    struct zr_contest contest; /* first */
    int64_t given;             /* the limit given by the user; 0: use the stored one */
    bool agreed;               /* `given` was the stored limit when we first read it */
    bool readable;             /* the last read found a limit in the data */
    bool known;                /* capacity is what was stored at ... */
    int64_t mzxid;             /* ... this one of the directory's data */
    struct zr_capacity capacity;
    struct zr_bytes data;        /* what to write if the directory must be made; null: not known */
    char text[ZR_CAPACITY_TEXT]; /* of data */
};

/* A read of the directory: in flight, or answered. */
struct zr_limit_read {
    struct zr_semaphore *semaphore;
    struct zr_call *call;   /* while it is out */
    enum zr_status refused; /* ZR_OK: it was not */
    char *detail;           /* of a conflict */
    /* Of the directory, as its stat was read. */
    int64_t mzxid, pzxid; /* mzxid 0: nothing was read */
    int32_t cversion, child_count;
};

/* ---- The limit (limit.c) ------------------------------------------------------------------- */

/* The user opens it with this limit, or has changed the limit to this one by this object. */
void zr_limit_give(struct zr_semaphore *semaphore, int64_t limit);

/* The last known limit; 0: it was never known. */
int64_t zr_limit_last(const struct zr_semaphore *semaphore);

/* False: it must be read before semaphore->capacity may be used, or it is not the user's. */
bool zr_limit_known(const struct zr_semaphore *semaphore);

/* Sends the read; a listing may be requested behind it in the same flight. A read before it is
   forgotten. Errors: ZR_NO_MEMORY. */
enum zr_status zr_limit_ask(struct zr_limit_read *read);

/* Forgets it; or also frees what the task has told of it, when that ends. */
void zr_limit_forget(struct zr_limit_read *read);
void zr_limit_fini(struct zr_limit_read *read);

/* For a step that has listed. True: semaphore->capacity was in force when the listing was made.
   False: the step is over; it has continued with `look`, which reads the limit and lists again,
   or failed. */
bool zr_limit_stands(struct zr_task *task, struct zr_limit_read *read, zr_step *look);

/* Ends a step that found no directory, and has no limit to make it with. */
void zr_limit_missing(struct zr_task *task);

/* Ends a step that found a conflict. The message names both limits, or, with `permits`, says that
   they are more than the limit. */
void zr_limit_conflict(struct zr_task *task, struct zr_limit_read *read, int64_t permits);

/* ---- Strangers (sift.c): they hold no permits, but seem to until they are ignored ----------- */

struct zr_sift {
    size_t at;              /* the seats before this index have been read */
    struct zr_seats *seats; /* the listing, while a read is out */
};

/* For a step that has listed. Reads the next seat with an unusual name before `end`; `next` calls
   zr_sift_answered. False: there is none. */
bool zr_sift_next(struct zr_task *task, struct zr_sift *sift, size_t end, const char *dir,
                  struct zr_next next);

/* task->seats is the listing again. */
enum zr_suspect_verdict zr_sift_answered(struct zr_task *task, struct zr_sift *sift);

/* Another listing will be sifted from its beginning. */
void zr_sift_forget(struct zr_sift *sift);

/* Methods (acquire.c, available.c, resize.c). */
enum zr_status zr_semaphore_acquire(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task);
enum zr_status zr_semaphore_available(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task);
enum zr_status zr_semaphore_resize(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task);

/* ---- An attempt (acquire.c), what it watches (watch.c), whom it tells (tell.c) --------------- */

struct zr_permit_attempt {
    struct zr_hold hold;      /* first */
    char note[ZR_COUNT_NOTE]; /* of its permits, in its seat's name */
    struct zr_limit_read read;
    bool first_sight; /* it has not looked before */
    struct zr_sift sift;
    struct zr_next look;         /* the step that lists */
    struct zr_next weigh;        /* the step after something ahead has gone; see watch_all */
    struct zr_watch_set watches; /* all seats ahead, and the limit; or nothing */
    char *ahead;                 /* the name of the seat just ahead that it follows, or followed */
    int64_t heard;               /* the last version of that node's data that it has acted upon */
    bool told;               /* the waiter behind knows, or will see, that this one is the first */
    struct zr_mark mark;     /* for it; `at` is null: there is none */
    struct zr_call *marking; /* its write, until it is certain */
};

/* Nothing ahead is watched any more. */
void zr_permit_look_away(struct zr_permit_attempt *attempt);

/*
 * Verbs, after a look (task->seats).
 * watch_all: watches all seats before `index`, and the limit. attempt->weigh is the next step, when
 * a seat has gone, or all is watched: attempt->watches says which are left, and the limit that is
 * known was in force when the last one went. It may keep_watching. If that is not certain,
 * attempt->look is the next step.
 * follow: watches the seat `ahead`. When that is the first waiter, as watch_all; when it is gone,
 * attempt->look is the next step.
 */
void zr_permit_watch_all(struct zr_task *task, int64_t index);
void zr_permit_keep_watching(struct zr_task *task);
void zr_permit_follow(struct zr_task *task, int64_t ahead);

/* Call it as soon as no waiter is ahead, and at the latest just before the seat is granted: tells
   the waiter behind, once. seats, index: the listing that says so; null: attempt->watches do, and
   zr_permit_knows_behind. Errors: ZR_NO_MEMORY, ZR_TOO_LARGE, and no waiter was told. */
enum zr_status zr_permit_tell(struct zr_permit_attempt *attempt, const struct zr_seats *seats,
                              int64_t index);

/* False: whether there is a waiter behind is not known. */
bool zr_permit_knows_behind(const struct zr_permit_attempt *attempt);

/* It will have another seat, or is freed. */
void zr_permit_forget_mark(struct zr_permit_attempt *attempt);

#endif
