#ifndef ZR_ZNODE_H
#define ZR_ZNODE_H

/*
 * znode.h: what a barrier, a latch and a counter have in common: one znode at a path, which is not
 * ephemeral; and the tasks of their methods. Thread: the host's.
 */

#include "core/session.h"
#include "core/task.h"
#include "core/verbs.h"

/* First member of a recipe's struct. */
struct zr_znode {
    struct zr_object object;
    struct zr_session *session; /* used */
    char *path;                 /* the user's */
    char *full;                 /* with the namespace */
};

/* The task of a method. First member of its struct. */
struct zr_znode_task {
    struct zr_task task;
    struct zr_znode *znode; /* counted */
    /* of zr_znode_make: */
    struct zr_bytes data;
    struct zr_next made;
    char *parent; /* that is being made */
};

/*
 * gives: a zeroed object of this size that begins with a struct zr_znode, with one reference, for
 * the path args->at[0]. Errors: ZR_NO_MEMORY; the root is misuse.
 */
enum zr_status zr_znode_new(size_t size, const struct zr_class *class, struct zr_session *session,
                            struct zr_args *args, struct zr_object **object);
void zr_znode_free(struct zr_object *self); /* for its class */

void zr_znode_get_path(struct zr_object *self, struct zr_sink *sink);
void zr_znode_get_session(struct zr_object *self, struct zr_sink *sink);

/* gives: a zeroed task of this size. Errors: ZR_NO_MEMORY, or why the session cannot be used. */
enum zr_status zr_znode_task_new(size_t size, struct zr_object *self, struct zr_znode_task **out);

/* Starts it; no limit is no limit. */
void zr_znode_task_start(struct zr_znode_task *znode_task, const struct zr_task_kind *kind,
                         const struct zr_arg *limit, struct zr_next first);
void zr_znode_task_free(struct zr_task *task);

struct zr_znode_task *zr_znode_task_of(struct zr_task *task);
struct zr_znode *zr_znode_of(struct zr_task *task);

/* For steps: creates the object's znode with these data, and its parents. The next step sees in
   task->outcome whether this call has created it: ZR_OK, or ZR_NODE_EXISTS. (After a lost answer it
   cannot tell, and says ZR_NODE_EXISTS.) keeps: data. */
void zr_znode_make(struct zr_task *task, struct zr_bytes data, struct zr_next made);

#endif
