#ifndef ZR_SEMAPHORE_H
#define ZR_SEMAPHORE_H

/* semaphore.h: what the files of the semaphore share: semaphore.c and semaphore_*.c. Thread: the
   host's. */

#include "recipes/contest.h"
#include "recipes/eyes.h"
#include "recipes/room.h"

struct zr_semaphore {
    struct zr_contest contest; /* first */
    int64_t given;             /* the limit it was opened with; 0: whatever is stored */
    bool agreed;               /* that is what was stored when it was first seen */
    bool readable;             /* what was stored when it was read last is a limit */
    bool known;                /* room is what was stored at ... */
    int64_t mzxid;             /* ... this one of the directory's data */
    struct zr_room room;
    struct zr_dir_data data; /* what the directory holds when it must be made; null: not known */
    char text[ZR_ROOM_TEXT]; /* of data */
};

/* A read of the directory, which is out, or what became of it. */
struct zr_limit_read {
    struct zr_semaphore *semaphore;
    struct zr_call *call;   /* while it is out */
    enum zr_status refused; /* ZR_OK: it was not */
    char *detail;           /* of a conflict */
    /* Of the directory, as its stat was read. */
    int64_t mzxid, pzxid; /* mzxid 0: nothing was read */
    int32_t cversion, child_count;
};

/* ---- The limit (semaphore_limit.c) --------------------------------------------------------- */

/* It is opened with this limit, or somebody who uses it has made it this one. */
void zr_limit_give(struct zr_semaphore *semaphore, int64_t limit);

/* The limit as it was known last; 0: it never was. */
int64_t zr_limit_last(const struct zr_semaphore *semaphore);

/* Sends the read, behind which a listing may be asked for in the same flight; an older one is
   forgotten. Errors: ZR_NO_MEMORY. */
enum zr_status zr_limit_ask(struct zr_limit_read *read);

/* Forgets it; or also frees what the task has told of it, when that ends. */
void zr_limit_forget(struct zr_limit_read *read);
void zr_limit_fini(struct zr_limit_read *read);

/* For a step that has listed: true when semaphore->room was in force just then. Else the step is
   over: by `look`, which is to ask and to list again, or by a failure. */
bool zr_limit_stands(struct zr_task *task, struct zr_limit_read *read, zr_step *look);

/* The end of a step that found no directory, and has no limit to make it with. */
void zr_limit_missing(struct zr_task *task);

/* The end of a step that found a conflict: says both limits, or, with permits, that they are more
   than the limit. */
void zr_limit_conflict(struct zr_task *task, struct zr_limit_read *read, int64_t permits);

/* Methods (semaphore_available.c, semaphore_resize.c). */
enum zr_status zr_semaphore_available(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task);
enum zr_status zr_semaphore_resize(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task);

/* ---- An attempt (semaphore.c), and what it watches (semaphore_watch.c) ---------------------- */

struct zr_permit_attempt {
    struct zr_hold hold;        /* first */
    int32_t permits;            /* that it asks for, or holds */
    char note[ZR_PERMITS_NOTE]; /* of its permits, in its seat's name */
    struct zr_limit_read read;
    bool first_sight;       /* it has not looked before */
    struct zr_next look;    /* the step after a wait */
    struct zr_eyes eyes;    /* of the first who waits */
    struct zr_watch *watch; /* followed: on the one just ahead, whose number is: */
    int64_t ahead;
    int32_t marked;       /* the version of his node that was acted upon */
    int64_t events;       /* at the watch, before he was read */
    struct zr_call *mark; /* of our own node, until it is certain */
};

/* The permits of a hold; 0: it is not a semaphore's. */
int32_t zr_permits_of(const struct zr_hold *hold);

/* Nothing is watched any more. */
void zr_permit_look_away(struct zr_permit_attempt *attempt);

/* Verbs, after a look (task->seats): as the first who wait, behind all before `index`; or behind
   the one at `ahead`, who waits too. `look` is the step that follows. */
void zr_permit_watch_holders(struct zr_task *task, int64_t index, struct zr_next look);
void zr_permit_watch_ahead(struct zr_task *task, int64_t ahead, struct zr_next look);

/* It is about to be granted at this index: tells those behind that it holds from now on. Errors:
   ZR_NO_MEMORY, and nobody was told. */
enum zr_status zr_permit_tell(struct zr_permit_attempt *attempt, const struct zr_seats *seats,
                              int64_t index);

#endif
