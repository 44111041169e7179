#ifndef ZR_CONTEST_OBJECT_H
#define ZR_CONTEST_OBJECT_H

/*
 * contest_object.h: the object of a lock, a read/write lock, a semaphore or an election: its
 * directory, the attempts that wait there, and the methods and properties that all of these
 * recipes have. How an attempt waits: contest.h. Thread: the host's.
 */

#include "core/session.h"
#include "core/task.h"

/* First member of a recipe's struct. */
struct zr_contest {
    struct zr_object object;
    struct zr_session *session; /* used */
    struct zr_list attempts;    /* struct zr_task, by in_owner */
    struct zr_list shown;       /* copies of them that are being emitted */
    struct zr_bytes data;       /* of the contenders' nodes */
    int64_t herd_us;            /* unfair.c: how long attempts hesitate at most ... */
    int turns;                  /* ... and how often this session had it, one after the other */
    int64_t max_queue;          /* so many contenders may be ahead of an attempt; 0: any number */
    char *path;                 /* the user's */
    char *dir;                  /* with the namespace */
};

/*
 * gives: a zeroed object of this size that begins with a contest, with one reference.
 * borrows: path, data. Errors: ZR_NO_MEMORY.
 */
enum zr_status zr_contest_new(size_t size, const struct zr_class *class, struct zr_session *session,
                              const char *path, struct zr_bytes data, struct zr_object **object);
void zr_contest_free(struct zr_object *self); /* for its class */

/* For a step that would wait, after a look. True: more than max_queue are ahead of the attempt, and
   the step has failed with ZR_FULL. */
bool zr_contest_queue_full(struct zr_task *task);

/* Methods and properties of all contests. */
enum zr_status zr_contest_cancel(struct zr_object *self, struct zr_args *args,
                                 struct zr_sink *sink);
enum zr_status zr_contest_attempts(struct zr_object *self, struct zr_args *args,
                                   struct zr_sink *sink);

/* The method `contenders` or `candidates`. keeps: method, see zr_contenders_start. */
enum zr_status zr_contest_contenders(struct zr_object *self, const char *method,
                                     struct zr_args *args, struct zr_task **task);

/* cancel_of, attempts_of: only for the attempts that wait with this stem. `attempts` reports what
   the last listings showed; it sends no request. Errors: ZR_NO_MEMORY. */
void zr_contest_cancel_of(struct zr_contest *contest, const struct zr_stem *stem,
                          struct zr_sink *sink);
enum zr_status zr_contest_attempts_of(struct zr_contest *contest, const struct zr_stem *stem,
                                      struct zr_sink *sink);

void zr_contest_get_path(struct zr_object *self, struct zr_sink *sink);
void zr_contest_get_session(struct zr_object *self, struct zr_sink *sink);

#endif
