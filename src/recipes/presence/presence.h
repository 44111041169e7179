#ifndef ZR_PRESENCE_H
#define ZR_PRESENCE_H

/*
 * presence.h: what the files of this folder share; only for them. presence.c has the class, keep.c
 * keeps the znode, presence_wait.c has the methods that wait. Thread: the host's.
 */

#include "core/seat.h"
#include "core/task.h"
#include "core/verbs.h"
#include "core/watch.h"
#include "recipes/znode.h"

enum zr_presence_state {
    ZR_PRESENCE_JOINING, /* the znode is being created */
    ZR_PRESENCE_PRESENT, /* it exists */
    ZR_PRESENCE_BLOCKED, /* another client's znode is at the path */
    ZR_PRESENCE_LEFT,    /* it is deleted, and will not be created again */
};

struct zr_presence {
    struct zr_znode znode;
    struct zr_task task; /* keeps the znode, in one session after the other */
    struct zr_seat seat;
    struct zr_follower follower;
    struct zr_bytes data; /* that the znode is to have; one block, or null */
    uint32_t wanted;      /* how often data were given */
    uint32_t sent;        /* ... when those were sent that are on their way */
    uint32_t written;     /* ... when those were given that the znode has, as a server has said */
    uint32_t too_large;   /* ... when those were given that no server accepts */
    uint8_t losses;       /* of connections under a write of them, in a row */
    int32_t version;      /* of the znode, when it had what was written */
    uint32_t events;      /* at the path, so far */
    uint32_t seen;        /* ... before the last look */
    int64_t session_id;   /* in which it was made the last time */
    int64_t blocker;      /* the creation zxid of the znode that was in the way last */
    enum zr_presence_state state;
    enum zr_status problem; /* why the last try failed; ZR_OK: it did not */
    uint32_t failures;      /* tries that failed, so far */
    bool running, left;     /* the task runs; the user wants no znode any more */
    struct zr_signal work;  /* wakes the task */
    struct zr_signal news;  /* fires when something of the above has changed */
};

/* Begins to keep the znode. The task has a reference, until it has ended. */
void zr_presence_keep(struct zr_presence *presence);

/* Begins to leave: the znode is deleted in the background. Idempotent. */
void zr_presence_leave(struct zr_presence *presence);

/* True if the znode is there, with data that were given at this count or later. */
bool zr_presence_has(const struct zr_presence *presence, uint32_t count);

/* Makes these the data of the znode. borrows: data. Errors: ZR_NO_MEMORY, ZR_TOO_LARGE, with
   nothing done. */
enum zr_status zr_presence_give(struct zr_presence *presence, struct zr_bytes data);

/* presence:ready([timeout]), presence:update([data [, timeout]]), presence:leave([timeout]) */
enum zr_status zr_presence_ready(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task);
enum zr_status zr_presence_update(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task);
enum zr_status zr_presence_start_leave(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task);

#endif
