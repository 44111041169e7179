#ifndef ZR_ELECTION_H
#define ZR_ELECTION_H

/*
 * election.h: what an election knows about its leader. Only for election.c and leader.c.
 * Thread: the host's.
 */

#include "core/watch.h"
#include "recipes/contest.h"

struct zr_election;

/* The options of `session:election(path, options)`. */
struct zr_election_options {
    struct zr_bytes value;
    bool unfair;    /* fair = false */
    int64_t quorum; /* by rank, for this many candidates at least; 0: not by rank */
    int64_t rank;   /* of its candidates; only by rank */
};

/* Room for the name of a seat by rank, "<session id>-<counter>-<rank>-rank-<number>"; longer ones
   are none of ours. */
#define ZR_RANK_NAME 64

/* A task that finds out which candidate leads. */
struct zr_look {
    struct zr_task task;
    struct zr_election *election; /* counted */
    bool follows;                 /* its reads leave watches */
    zr_step *found;               /* the read of the leader's node is in task->call */
    zr_step *nobody;              /* no node of the listing is a candidate: there is no leader */
    struct zr_call *read;         /* of a caller that looks once: the answer */
    struct zr_seats *seats;       /* counted: the listing, or null */
    size_t at;                    /* in the listing: the node that is read */
    char ended[ZR_RANK_NAME];     /* by rank: the last leader that was found gone */
};

struct zr_election {
    struct zr_contest contest;
    bool unfair; /* the path is the leader's node, see unfair.h */
    char *head;  /* the leader's node at the last look; null: not known */

    /* By rank (rank.h). */
    struct zr_rank_say *say; /* counted: the data of new candidates; null: not by rank */
    size_t quorum;
    struct zr_signal stood;  /* fires when a candidate has taken a seat, or stands no more */
    int64_t token, since_ms; /* of the leader at `head` */

    /* Follows the leader, for all tasks that observe it. */
    struct zr_look follower;
    bool following;         /* its task lives */
    int observers;          /* how many wait for news now */
    struct zr_watch *watch; /* of the leader's node, or of the directory; followed */
    int64_t events;         /* how many events it had had at the last look */
    int generation; /* of the last session whose answers are known not to lag behind what observers
                       saw */
    int asked_generation;  /* of the session whose answer is being checked */
    bool current;          /* `seen` is the result of the last look */
    struct zr_call *seen;  /* the read of the leader's node; null: there is no leader */
    int64_t changes;       /* how many there were of `seen` */
    enum zr_status ended;  /* why it does not follow */
    struct zr_signal news; /* fires after every look */
};

extern const struct zr_class zr_election_class, zr_term_class;

/* Step: finds out which candidate leads, and continues with look->found or look->nobody. */
void zr_look(struct zr_task *task);

/* Steps: sends a read; a read of the follower leaves a watch. */
void zr_look_ask(struct zr_task *task, enum zr_op op, const char *path, struct zr_next next);

/* The look has no listing any more. */
void zr_look_forget(struct zr_look *look);

/* The look that this task is. */
struct zr_look *zr_look_of(struct zr_task *task);

/* Follows the events at this path instead of those at the path before. Call it before the read.
   kinds: as of zr_watch_follow. Errors: ZR_NO_MEMORY, ZR_FULL. */
enum zr_status zr_follower_turn_to(struct zr_election *election, const char *path, int kinds);

/* Emits { data, token, session, since } of the leader whose node was read. read: null emits
   nothing. */
void zr_leader_emit(struct zr_sink *sink, const struct zr_call *read);

/* Reads which candidate leads. gives: task. Errors: as zr_session_usable, ZR_NO_MEMORY. */
enum zr_status zr_leader_start(struct zr_object *self, struct zr_args *args, struct zr_task **task);

/* Waits until there have been more than args->at[0] changes of the leader. Errors: as
   zr_leader_start. */
enum zr_status zr_next_leader_start(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task);

/* The election is forgotten: no task observes it any more. */
void zr_follower_stop(struct zr_election *election);

#endif
