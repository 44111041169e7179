#ifndef ZR_TREE_H
#define ZR_TREE_H

/*
 * tree.h: what the files of the watched copy share; only for those. tree.c is the class, node.c the
 * znodes that the copy follows, filter.c which these are, load.c what is to be read, read.c the
 * requests, answer.c what their answers mean, picture.c what is shown, changes.c tells readers of
 * it, tree_wait.c waits, pack.c makes a text of the copy. Thread: the host's.
 */

#include "core/call.h"
#include "core/task.h"
#include "core/watch.h"

/* What was read of one znode; trees share it. It never changes, except that a listing makes its
   stat younger. */
struct zr_tree_state {
    int refs;
    bool refused; /* its data may not be read */
    struct zr_stat stat;
    struct zr_bytes data; /* one block, or null */
};

/* One request of all trees of the session that wait for its answer. */
struct zr_tree_read {
    struct zr_call *call;
    struct zr_list shares;       /* struct zr_tree_share, at most one of each tree */
    int64_t asked_us;            /* when it was asked for */
    size_t auths;                /* how many credentials the session had then */
    struct zr_tree_state *state; /* what it has found, once a tree shows it; counted */
};

/* A node waits for an answer. */
struct zr_tree_share {
    struct zr_link in_read;
    struct zr_tree_read *read; /* null: it does not */
};

/* Members of the log: nodes, and the positions of readers. */
struct zr_tree_entry {
    struct zr_link link;
    bool is_position;
};

struct zr_tree_node {
    struct zr_node in_table; /* by the user's path */
    struct zr_tree *tree;
    struct zr_tree_node *parent; /* while it is kept; null: the root */
    struct zr_tree_node **kids;  /* sorted by name */
    size_t kid_count;
    struct zr_follower follower;
    struct zr_tree_state *state; /* what is shown; null: nothing */
    struct zr_tree_entry entry;  /* in the log: it is shown, or a reader does not know that it is
                                    gone */
    struct zr_link in_unsettled; /* while `needs` is not 0 */
    struct zr_link in_queue;     /* while it has something to ask, in `queue` or `resting` */
    struct zr_link in_hidden;    /* while it, or its children, may not be read */
    int64_t asked_us;            /* when it began to be read the last time */
    int64_t since_us;            /* up to when what is shown was proven; while unsettled */
    struct zr_tree_share get, list;
    unsigned needs;        /* ZR_ON_NODE, ZR_ON_CHILDREN: to be read */
    enum zr_status failed; /* why it was not read the last time; ZR_OK: it was */
    int depth;             /* 0: the root */
    int pins;              /* readers that are telling it */
    bool kept : 1;         /* the copy follows it */
    bool doubtful : 1;     /* it may be gone: first the znode is read, then its children */
    bool by_exists : 1;    /* it is not there, or may not be read: asked for by exists */
    bool absent : 1;       /* the root: it is not there */
    bool unlisted : 1;     /* its children may not be listed */
    char path[];           /* with the namespace */
};

/* No time up to which something is proven. */
#define ZR_TREE_NEVER INT64_MIN

struct zr_tree {
    struct zr_object object;
    struct zr_session *session; /* used */
    struct zr_task task;        /* keeps the copy */
    int64_t depth;              /* -1: no limit */
    char *path;
    char *filter; /* patterns, each ends with a zero byte, the last with two; null: all are kept */
    struct zr_tree_node *root;
    struct zr_table nodes;
    struct zr_list queue;     /* struct zr_tree_node, by in_queue: to be asked for */
    struct zr_list resting;   /* ... later, when `rest` is over */
    struct zr_list unsettled; /* by in_unsettled, the oldest proof first */
    struct zr_timer rest;
    struct zr_list hidden;  /* by in_hidden: the server may keep their events back */
    struct zr_timer look;   /* then they are read again */
    int64_t looked_us;      /* while any is hidden: all were so then, or later */
    int in_flight;          /* answers that it waits for */
    bool answered;          /* a server has answered in this session's generation */
    bool loaded;            /* it shows a whole copy */
    bool from_file;         /* ... that of a file, until all of it was read again */
    bool running, closed;   /* the task runs; the user has closed it */
    enum zr_status ended;   /* why the task runs no more */
    int full, failing;      /* nodes that failed: with ZR_FULL; otherwise */
    enum zr_status failure; /* the last one of the latter */
    enum zr_status problem; /* why something is not in the copy; ZR_OK: nothing is missing */
    struct zr_signal work;  /* wakes the task */
    struct zr_signal news;  /* fires at each change of what is shown, or of the fields above */
    struct zr_list log;     /* struct zr_tree_entry: the node that was changed last at the end */
    struct zr_list readers; /* struct zr_changes */
    uint32_t changes;       /* how many there were */
    size_t shown;           /* nodes that show something */
    int64_t proof_us;       /* of the last end of the task; or ZR_TREE_NEVER */
    char *packed;           /* while it is emitted */
    struct zr_tree_state *read; /* the last one that a method has shown: it lives until the next */
};

/* ---- node.c -------------------------------------------------------------------------------- */

/* The node of this path as the user says it, or null. borrows: path. */
struct zr_tree_node *zr_tree_find(const struct zr_tree *tree, const char *path);

/* gives: a node that is not kept yet (zr_tree_keep), or one whose end a reader does not know, or
   null if memory is exhausted. borrows: path (with the namespace). */
struct zr_tree_node *zr_tree_node(struct zr_tree *tree, const char *path, size_t length);

/* The copy follows it from now on, and needs to read it. since_us: up to when what is shown was
   proven. */
void zr_tree_keep(struct zr_tree_node *node, struct zr_tree_node *parent, int64_t since_us);

/* It is gone, and all below it: nothing is shown any more, and its watches are given back. */
void zr_tree_drop(struct zr_tree_node *node);
void zr_tree_drop_below(struct zr_tree_node *node);

/* Frees it if the copy does not keep it and no reader needs it. */
void zr_tree_node_done(struct zr_tree_node *node);

/* Takes its watches and requests back; what is shown stays. */
void zr_tree_let_go(struct zr_tree_node *node);

/* Makes this list its children. borrows: names, which it puts in another order. Errors:
   ZR_NO_MEMORY, with nothing done. */
enum zr_status zr_tree_set_kids(struct zr_tree_node *node, struct zr_names *names);

/* The next node behind this path (null: the first), shown or not; a parent comes before its
   children, and these in the order of their names. Null: none. */
struct zr_tree_node *zr_tree_after(const struct zr_tree *tree, const char *path);

/* True if its children are not wanted. */
bool zr_tree_is_leaf(const struct zr_tree_node *node);

/* The last part of its path. */
const char *zr_tree_name(const struct zr_tree_node *node);

/* ---- filter.c ------------------------------------------------------------------------------ */

/* True if the copy keeps the child of this name. */
bool zr_tree_wants(const struct zr_tree_node *parent, const char *name);

/* ---- load.c -------------------------------------------------------------------------------- */

/* The task's first step. */
void zr_tree_load(struct zr_task *task);

/* This must be read (again). since_us: as of zr_tree_keep, if nothing else of it is to be read. */
void zr_tree_need(struct zr_tree_node *node, unsigned needs, int64_t since_us);

/* For follower.told. */
void zr_tree_told(struct zr_follower *follower, unsigned used_up);

/* It is asked for again after a while. */
void zr_tree_rest(struct zr_tree_node *node, enum zr_status why);

/* Part of its news may be kept back (hidden): it is read again after a minute. Otherwise that is
   not needed any more. */
void zr_tree_hidden(struct zr_tree_node *node, bool hidden);

/* Why it could not be read; ZR_OK: it was read, or is not kept. */
void zr_tree_failed(struct zr_tree_node *node, enum zr_status why);

/* An answer has come, and was dealt with: asks for what is still needed, if anything is. */
void zr_tree_answered(struct zr_tree_node *node);

/* Something is no longer needed: if nothing is, the copy is loaded. */
void zr_tree_settle(struct zr_tree *tree);

/* ---- read.c -------------------------------------------------------------------------------- */

/* If the node, which follows its path, needs the answer to this request (get, exists, children), it
   waits for it from now on. Errors: ZR_NO_MEMORY. */
enum zr_status zr_tree_ask(struct zr_tree_node *node, enum zr_op op);

/* This node of the tree waits no more. Harmless if it did not. */
void zr_tree_leave(struct zr_tree *tree, struct zr_tree_share *share);

/* ---- answer.c ------------------------------------------------------------------------------ */

/* What the answer means, whatever its status; but it is of this generation. borrows: read (its data
   may be moved to its state), request (its names are put in another order). */
void zr_tree_got(struct zr_tree_node *node, struct zr_tree_read *read);
void zr_tree_listed(struct zr_tree_node *node, struct zr_request *request);

/* ---- picture.c ----------------------------------------------------------------------------- */

/* Shows what was read. takes: state. */
void zr_tree_show(struct zr_tree_node *node, struct zr_tree_state *state);

/* There is no znode any more. */
void zr_tree_hide(struct zr_tree_node *node);

void zr_tree_state_free(struct zr_tree_state *state); /* gives one reference back; or null */

/* True if both are of one znode, not of one that was made again. The numbers of servers that were
   set anew begin again, so the times count too. */
bool zr_tree_same_znode(const struct zr_tree_state *a, const struct zr_tree_state *b);

/* True if both say the same about the znode. Either may be null. */
bool zr_tree_same(const struct zr_tree_state *a, const struct zr_tree_state *b);

/* Something changed that tasks wait for. */
void zr_tree_fire(struct zr_tree *tree);

/* Up to when the copy is proven to be current: what it shows was so on the server then, or
   later. ZR_TREE_NEVER: it was never loaded, or its file does not say. */
int64_t zr_tree_proof_us(struct zr_tree *tree);

/* tree:age(); tree:proof_age(): the seconds since the last proof, and nil instead of infinity */
enum zr_status zr_tree_age(struct zr_object *self, struct zr_args *args, struct zr_sink *sink);
enum zr_status zr_tree_proof_age(struct zr_object *self, struct zr_args *args,
                                 struct zr_sink *sink);

/* ---- pack.c -------------------------------------------------------------------------------- */

/* tree:pack(): the copy as a text */
enum zr_status zr_tree_pack(struct zr_object *self, struct zr_args *args, struct zr_sink *sink);

/* tree:restore(text [, age]): shows what pack has written; for a tree that was just made. Emits
   nothing, or why it does not: "another" (it is of another tree), "damaged", "no_memory". */
enum zr_status zr_tree_restore(struct zr_object *self, struct zr_args *args, struct zr_sink *sink);

/* ---- changes.c ----------------------------------------------------------------------------- */

/* tree:changes() */
enum zr_status zr_tree_changes(struct zr_object *self, struct zr_args *args,
                               struct zr_object **object);

/* True if a reader was told that there is such a znode. */
bool zr_tree_is_told(const struct zr_tree_node *node);

/* ---- tree_wait.c --------------------------------------------------------------------------- */

/* tree:ready([timeout]); tree:changed(seen [, timeout]) */
enum zr_status zr_tree_ready(struct zr_object *self, struct zr_args *args, struct zr_task **task);
enum zr_status zr_tree_changed(struct zr_object *self, struct zr_args *args, struct zr_task **task);

#endif
