#ifndef ZR_GATE_H
#define ZR_GATE_H

/*
 * gate.h: what a barrier and a latch have in common: a znode at a path, for which tasks wait; only
 * for the files of this folder. Thread: the host's.
 */

#include "core/session.h"
#include "core/task.h"
#include "core/verbs.h"

/* First member of a recipe's struct. */
struct zr_gate {
    struct zr_object object;
    struct zr_session *session; /* used */
    char *path;                 /* the user's */
    char *full;                 /* with the namespace */
};

/* The task of a method. First member of its struct. */
struct zr_gate_task {
    struct zr_task task;
    struct zr_gate *gate; /* counted */
    /* of zr_gate_make: */
    struct zr_bytes data;
    struct zr_next made;
    char *parent; /* that is being made */
};

/*
 * gives: a zeroed object of this size that begins with a gate, with one reference, for the path
 * args->at[0]. Errors: ZR_NO_MEMORY; the root is misuse.
 */
enum zr_status zr_gate_new(size_t size, const struct zr_class *class, struct zr_session *session,
                           struct zr_args *args, struct zr_object **object);
void zr_gate_free(struct zr_object *self); /* for its class */

void zr_gate_get_path(struct zr_object *self, struct zr_sink *sink);
void zr_gate_get_session(struct zr_object *self, struct zr_sink *sink);

/* gives: a zeroed task of this size. Errors: ZR_NO_MEMORY, or why the session cannot be used. */
enum zr_status zr_gate_task_new(size_t size, struct zr_object *self, struct zr_gate_task **out);

/* Starts it; no limit is no limit. */
void zr_gate_task_start(struct zr_gate_task *gate_task, const struct zr_task_kind *kind,
                        const struct zr_arg *limit, struct zr_next first);
void zr_gate_task_free(struct zr_task *task);

struct zr_gate_task *zr_gate_task_of(struct zr_task *task);
struct zr_gate *zr_gate_of(struct zr_task *task);

/* For steps: creates the gate's znode with these data, and its parents. The next step sees in
   task->outcome whether this call has created it: ZR_OK, or ZR_NODE_EXISTS. (After a lost answer it
   cannot tell, and says ZR_NODE_EXISTS.) keeps: data. */
void zr_gate_make(struct zr_task *task, struct zr_bytes data, struct zr_next made);

#endif
