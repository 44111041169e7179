#ifndef ZR_BARRIER_JOIN_H
#define ZR_BARRIER_JOIN_H

/* join.h: a member that joins a round; only for join.c, join_count.c and give_up.c. */

#include "recipes/barrier/member.h"

struct zr_join {
    struct zr_visit visit;
    bool announced;      /* the request that creates its znodes was made */
    bool through;        /* it was in a round when the call succeeded */
    bool giving_up;      /* it deletes its znodes ... */
    bool withdrawn;      /* ... and they are gone, and it was in no round */
    enum zr_status why;  /* it gives up ... */
    char *text;          /* ... what the message says then; null: what the status says */
    int64_t deadline_us; /* on the engine's clock; negative: none */
    size_t came;         /* members with our n that waited, by the last listing */
    size_t others;       /* members with another n, behind them in the listing */
    int64_t least;       /* the least czxid of these; 0: none is there */
    bool knows_came;     /* the failure tells how many came */
};

struct zr_join *zr_join_of(struct zr_task *task);

/* Steps. count: begins rounds, until fewer than n wait. await: waits
   until our w- znode is gone. through: the member is in a round. */
void zr_join_count(struct zr_task *task);
void zr_join_await(struct zr_task *task);
void zr_join_through(struct zr_task *task);

/* Moves the waiting members with our n to the front of the listing, those with another n behind
   them, and counts both. */
void zr_join_sift(struct zr_task *task);

/* give_up.c: for kinds; `clean` leaves nothing of the member. */
void zr_join_give_up(struct zr_task *task);
void zr_join_clean(struct zr_task *task);
void zr_join_failed(struct zr_task *task, struct zr_sink *sink);

#endif
