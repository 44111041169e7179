#ifndef ZR_SIMPLE_H
#define ZR_SIMPLE_H

/*
 * simple.h: the queue's simple format; only for the files of this folder. simple.c has the class,
 * and puts; simple_list.c lists the directory, simple_take.c takes (simple_shared.c: what takes
 * share), and simple_walk.c only looks.
 * Nothing of queue.h is used: the format has no claims, priorities, ids or delays. Thread: the
 * host's.
 */

#include "core/watch.h"
#include "recipes/znode.h"

struct zr_simple {
    struct zr_znode znode;
    int64_t most; /* names that are listed; more are refused */

    /* What all takes of this process share. */
    struct zr_names *names; /* as listed last; ours */
    size_t next;            /* the first of them that no take has tried */
    int64_t fresh_until_us; /* they are used */
    bool looking;           /* a take lists ... */
    uint64_t looks, done;   /* ... how many have begun; the number of the last one that succeeded */
    struct zr_signal looked;
    size_t waiting;              /* takes that wait for an item */
    struct zr_follower follower; /* ... it follows the directory for them */
    uint64_t events, seen;       /* reasons to list again: so far; before the look `done` */
    uint64_t before;             /* ... before the last look */
    bool watched;                /* the look `done` has left watches for those who wait */
    struct zr_signal news;       /* there is a reason, or a look has found names */
};

/* The task of a method that lists. First member of its struct. */
struct zr_simple_task {
    struct zr_znode_task znode_task;
    bool watches;                         /* its requests leave watches */
    struct zr_names *names;               /* of the items, in order; null: none; ours */
    void (*listed)(struct zr_task *task); /* what comes next */
};

struct zr_simple *zr_simple_of(struct zr_task *task);
struct zr_simple_task *zr_simple_task_of(struct zr_task *task);

/* Frees the task. */
void zr_simple_task_free(struct zr_task *task);

/* Step: lists the items, then runs `listed`. */
void zr_simple_list(struct zr_task *task, bool watches, void (*listed)(struct zr_task *task));

/* The listing that takes share. takes: names, or null: list again. */
void zr_simple_set_names(struct zr_simple *simple, struct zr_names *names);
/* True if there is a name that no take has tried. */
bool zr_simple_has_name(const struct zr_simple *simple);
/* There is a reason to list again. */
void zr_simple_happened(struct zr_simple *simple);

/* One more take waits: while some do, the directory is followed. Errors: ZR_NO_MEMORY, ZR_FULL.
   unfollow: it waits no more. */
enum zr_status zr_simple_follow(struct zr_simple *simple);
void zr_simple_unfollow(struct zr_simple *simple);

enum zr_status zr_simple_start_take(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task);
enum zr_status zr_simple_start_peek(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task);

/* simple:walk(): an object whose `next` gives one item after the other. */
enum zr_status zr_simple_make_walk(struct zr_object *self, struct zr_args *args,
                                   struct zr_object **object);

#endif
