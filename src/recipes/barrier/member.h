#ifndef ZR_BARRIER_MEMBER_H
#define ZR_BARRIER_MEMBER_H

/*
 * member.h: what the files of the double and the cyclic barrier share; only for them. rounds.c has
 * the story and the classes. join.c and join_count.c: a member joins; give_up.c: it gives up;
 * leave.c and leave_look.c: it leaves; farewell.c: what it deletes after that; round.c: what a
 * round's znode says; member.c: the member, and what its tasks have in common. Thread: the host's.
 */

#include "recipes/znode.h"

/* Room for "n5000-" and a tag of the session. */
#define ZR_MEMBER_TAG (sizeof("n5000-") + ZR_TAG)

/* A double or a cyclic barrier. */
struct zr_rounds {
    struct zr_znode znode;
    int64_t size;             /* so many members continue together */
    bool leaves;              /* it is a double barrier: members leave their round later */
    struct zr_task *entering; /* of a double barrier: the task of `enter`; or null */
    struct zr_member *member; /* counted; of a double barrier: the one that is in a round; of a
                                 cyclic one: the one that came last; or null */
};

/* A task of a member. First member of its struct. */
struct zr_visit {
    struct zr_znode_task znode_task;
    struct zr_member *member; /* counted; null: there is none yet */
    struct zr_call *listing;  /* the answer with the names in the directory; or null */
    size_t at;                /* the name that a loop looks at ... */
    char *path;               /* ... its path, if the loop needs that longer; or null */
    /* of zr_visit_delete: */
    const char *doomed;
    struct zr_next deleted;
    int64_t pause_us; /* the last one between two attempts */
};

/* A member of a round, or one that waits for a round. The paths have the namespace. */
struct zr_member {
    int refs;
    int64_t id; /* of the ZooKeeper session in which it is one */
    char tag[ZR_MEMBER_TAG];
    char *waits, *takes_part; /* its znodes w-<tag> and m-<tag> */
    char *round;              /* the znode of its round; null: not known */
    char *mark;               /* the child of the round that says that it has left; null: it was not
                                 asked for */
    bool departed;            /* it has no m- znode any more */
    bool over;                /* it has left, and so many members have died inside: */
    int64_t dead;             /* -1: not known */
    struct zr_visit farewell; /* runs if the program drops the member */
};

/* gives: a member with one reference, of the session's present id, or null if there is no
   memory. */
struct zr_member *zr_member_new(struct zr_rounds *rounds);
struct zr_member *zr_member_ref(struct zr_member *member);
void zr_member_unref(struct zr_member *member); /* null: does nothing */

struct zr_visit *zr_visit_of(struct zr_task *task);
struct zr_rounds *zr_rounds_of(struct zr_task *task);
void zr_visit_fini(struct zr_visit *visit); /* frees what it has, but not itself */
void zr_visit_free(struct zr_task *task);   /* for kinds */

/* Keeps the answer that the task has got, as its listing, and sorts its names. */
void zr_visit_keep_listing(struct zr_task *task);

/* For steps: waits before another attempt: longer each time. */
void zr_visit_pause(struct zr_task *task, struct zr_next next);

/* True if the same request may succeed later. */
bool zr_visit_passes(enum zr_status status);

/* For steps: deletes the znode, until the server has said something that will not change. The next
   step always runs. keeps: path. */
void zr_visit_delete(struct zr_task *task, const char *path, struct zr_next next);

/* gives: a multi of these parts, whose ephemeral znodes count in the session's budget. */
enum zr_status zr_member_new_multi(struct zr_task *task, const struct zr_request *parts,
                                   size_t count, struct zr_call **call);

/* gives: the request that deletes both znodes of the member. */
enum zr_status zr_member_new_delete(struct zr_task *task, struct zr_call **call);

/* cyclic_barrier:wait([timeout]), double_barrier:enter([timeout]) */
enum zr_status zr_rounds_join(struct zr_object *self, struct zr_args *args, struct zr_task **task);
/* double_barrier:leave([timeout]) */
enum zr_status zr_rounds_leave(struct zr_object *self, struct zr_args *args, struct zr_task **task);

/* farewell.c. For steps: the member has left: deletes its mark, its round, and the rounds in its
   listing whose members have all died; then ends the task. May begin again. */
void zr_farewell(struct zr_task *task);
/* The program has dropped the member, which has not left: the same in the background, and its m-
   znode first. */
void zr_farewell_start(struct zr_rounds *rounds, struct zr_member *member);

/* ---- round.c ------------------------------------------------------------------------------- */

/* What a listing and a round's znode say about the members of the round. */
struct zr_roll {
    size_t members;
    size_t inside;         /* whose m- znode is in the listing, without the member that asks */
    struct zr_bytes first; /* the tag of one of these; each member gets a different one */
    int64_t left;          /* members that have left */
};

/* borrows: listing, sorted; data: the round's; tag: of the member that asks. */
struct zr_roll zr_roll_of(const struct zr_names *listing, struct zr_bytes data,
                          const struct zr_stat *stat, const char *tag);
/* True if the round has a member with this tag. */
bool zr_round_has(struct zr_bytes data, const char *tag);
/* True if this is the name of a round. */
bool zr_is_round(const char *name);

#endif
