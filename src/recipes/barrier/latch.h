#ifndef ZR_LATCH_H
#define ZR_LATCH_H

/*
 * latch.h: what latch.c and latch_wait.c share; only for those two. latch.c counts; in latch_wait.c
 * tasks wait until the latch is open. Thread: the host's.
 */

#include "recipes/znode.h"

struct zr_latch {
    struct zr_znode znode;
    int64_t total;
    char text[12]; /* the total, as the znode's data */
    char *open;    /* the path of the znode "open", with the namespace */
    /* of latch_wait.c: */
    bool looking;            /* a task that waits looks at the latch ... */
    bool was_open;           /* ... what such a look has found last */
    int awaiting;            /* tasks that have looked, and wait for "open" */
    struct zr_signal looked; /* fires when `looking` ends */
};

/* The task of a method. First member of its struct. */
struct zr_latch_task {
    struct zr_znode_task znode_task;
    int64_t counted; /* how many counts there were */
    struct zr_next seen;
};

struct zr_latch_task *zr_latch_task_of(struct zr_task *task);
struct zr_latch *zr_latch_of(struct zr_task *task);

/* For steps: sets `counted` from the latch's znode, which is made if it is missing. Fails with
   ZR_CONFLICT if the znode is not a latch, or one for another number. */
void zr_latch_look(struct zr_task *task, struct zr_next seen);

/* latch:wait([timeout]) */
enum zr_status zr_latch_wait(struct zr_object *self, struct zr_args *args, struct zr_task **task);

#endif
