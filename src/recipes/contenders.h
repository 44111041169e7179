#ifndef ZR_CONTENDERS_H
#define ZR_CONTENDERS_H

/*
 * contenders.h: the contenders in a queue of seats, in queue order, with their data. For the method
 * `contenders` of every recipe whose queue is a directory of seats, and for tasks that begin with
 * it. Thread: the host's.
 */

#include "core/call.h"
#include "core/signal.h"
#include "core/stem.h"
#include "core/task.h"

/* First member of the struct of a task that reads the contenders. */
struct zr_contenders {
    struct zr_task task;
    struct zr_task_kind kind; /* of zr_contenders_start */
    struct zr_object *self;   /* counted */
    const char *dir;          /* self's */
    bool queue;               /* it has a queue; false: `dir` is the only node */
    struct zr_next then;
    struct zr_seats *seats; /* counted: the listing */
    struct zr_signal all_read;
    size_t count, missing;    /* reads; those that are still out */
    struct zr_call **reads;   /* null: had no memory or was refused */
    struct zr_call *dir_data; /* the read of the directory, or null */
    enum zr_status status;
};

/* One of them. Points into the zr_contenders. */
struct zr_contender {
    const struct zr_request *read; /* the answer to the get of its node */
    const struct zr_stem *stem;    /* null: there is no queue */
    int64_t permits;
    bool holding, shared;
};

/* A place among them, and what is ahead of it. Zeroed: before the first one. */
struct zr_contenders_at {
    size_t index;
    bool some, some_alone; /* one that does not share */
    int64_t permits;       /* those of the last one are among them */
};

/* gives: the task, zeroed, for zr_task_start with the step zr_contenders_read. Its step `then` runs
   when all have been read. keeps: self (counted), dir. Null: memory is exhausted. */
struct zr_contenders *zr_contenders_new(size_t size, struct zr_object *self, const char *dir,
                                        bool queue, struct zr_next then);

/* A step. Sends one listing, then one read per contender, all in flight at once. Without a queue it
   sends one read. */
void zr_contenders_read(struct zr_task *task);

/* The next of those that were read; false: there is none. */
bool zr_contenders_next(const struct zr_contenders *all, struct zr_contenders_at *at,
                        struct zr_contender *one);

/* True if the node of this stem says in this answer to a get that it shares what it holds. */
bool zr_contender_shares(const struct zr_contenders *all, const struct zr_stem *stem,
                         const struct zr_request *read);

/* For kind->free: frees the task and all it has. */
void zr_contenders_free(struct zr_task *task);

/*
 * Starts a task that gives a list of { data, token, holding, shared, permits, session, since }. If
 * there is no queue, the list has the holder of the node `dir`, or is empty. keeps: self (counted),
 * method ("lock:contenders", for messages; static), dir and subject (self's). borrows: limit, see
 * zr_session_limit_us. Errors: as zr_session_usable, ZR_NO_MEMORY.
 */
enum zr_status zr_contenders_start(struct zr_session *session, struct zr_object *self,
                                   const char *method, const char *dir, bool queue,
                                   const char *subject, const struct zr_arg *limit,
                                   struct zr_task **task);

#endif
