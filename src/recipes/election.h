#ifndef ZR_ELECTION_H
#define ZR_ELECTION_H

/*
 * election.h: what an election knows of its leader. For election.c and leader.c only.
 * Thread: the host's.
 */

#include "core/watch.h"
#include "recipes/contest.h"

struct zr_election;

/* How `session:election(path, options)` is told what to make. */
struct zr_election_options {
    struct zr_bytes value;
    bool unfair; /* fair = false */
};

/* A task that looks who leads. */
struct zr_look {
    struct zr_task task;
    struct zr_election *election; /* counted */
    bool follows;                 /* its reads leave watches */
    zr_step *found;               /* the read of the leader's node is in task->call */
    zr_step *nobody;              /* nobody led when the queue was listed */
    struct zr_call *read;         /* of who looks once: what was found */
};

struct zr_election {
    struct zr_contest contest;
    bool unfair; /* the path is the leader's node, see unfair.h */
    char *head;  /* the node that led when somebody looked last; null: not known */

    /* Following the leader, for all who observe. */
    struct zr_look follower;
    bool following;         /* its task lives */
    int observers;          /* how many wait for news now */
    struct zr_watch *watch; /* of the leader's node, or of the directory; followed */
    int64_t events;         /* how many it had had when it was looked at */
    int generation;         /* of the session whose word does not lag behind what was told */
    int asked_generation;   /* the one that is being made sure of */
    bool current;           /* `seen` is what the last look has brought */
    struct zr_call *seen;   /* the read of the leader's node; null: nobody leads */
    int64_t changes;        /* how many there were of `seen` */
    enum zr_status ended;   /* why it does not follow */
    struct zr_signal news;  /* fires after every look */
};

extern const struct zr_class zr_election_class, zr_term_class;

/* Step: looks, and goes on with look->found or look->nobody. */
void zr_look(struct zr_task *task);

/* Steps: sends a read; a follower's leaves a watch. */
void zr_look_ask(struct zr_task *task, enum zr_op op, const char *path, struct zr_next next);

/* The look that this task is. */
struct zr_look *zr_look_of(struct zr_task *task);

/* Follows the events at this path instead of those at another: before it is read. kinds: as of
   zr_watch_follow. Errors: ZR_NO_MEMORY, ZR_FULL. */
enum zr_status zr_follower_turn_to(struct zr_election *election, const char *path, int kinds);

/* Emits { data, token, session, since } of the leader whose node was read; null: nothing. */
void zr_leader_emit(struct zr_sink *sink, const struct zr_call *read);

/* Reads who leads. gives: task. Errors: as zr_session_usable, ZR_NO_MEMORY. */
enum zr_status zr_leader_start(struct zr_object *self, struct zr_args *args, struct zr_task **task);

/* Waits until there have been more than args->at[0] changes of the leader. The same errors. */
enum zr_status zr_next_leader_start(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task);

/* The election is forgotten: nobody observes any more. */
void zr_follower_stop(struct zr_election *election);

#endif
