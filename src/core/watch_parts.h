#ifndef ZR_WATCH_PARTS_H
#define ZR_WATCH_PARTS_H

/*
 * watch_parts.h: what the files about watches share; no other file includes it. watch.c knows
 * what the client watches. Three files build on it: with watch_follow.c tasks follow events, with
 * watch_gone.c they wait until an ephemeral node is gone, and with watch_presence.c until any node
 * is there, or is gone. watch_event.c handles the events for all of them. Thread: the host's.
 */

#include "core/watch.h"

struct zr_watch {
    struct zr_node node;
    struct zr_session *session;
    struct zr_signal gone, changed;
    int64_t events; /* so far */
    bool made;      /* one of them said that a node was made */
    int followers;
    struct zr_list joined;        /* struct zr_follower: these of them are told of events */
    int kinds;                    /* of watches that may be kept for it, 1 or 2 */
    int out;                      /* requests that will leave a watch */
    unsigned kept;                /* what the client watches: ZR_ON_NODE, ZR_ON_CHILDREN */
    bool set;                     /* the server has a watch on the node */
    int64_t czxid;                /* if set: of that node */
    bool stays;                   /* if set: that node is not ephemeral */
    int64_t word;                 /* if set: what the node said at that time, see stem.h */
    struct zr_call *call;         /* the read that sets it for `gone` */
    struct zr_call *making;       /* the read that sets it for those who want to know `made` */
    struct zr_call *removal;      /* the request that takes it back */
    struct zr_signal present;     /* tasks that wait for task->there ... */
    struct zr_call *present_read; /* ... the read that is out for them */
    bool present_set;             /* ... the server has a watch for them ... */
    bool present_was;             /* ... and there was a node when it was set */
    struct zr_link idle;          /* in the session's list while no task needs it */
    int64_t idle_us;              /* since when no task needs it */
    struct zr_link absent; /* in the session's list while it waits for a node to be made ... */
    int64_t asked_us;      /* ... when that was asked last */
    char path[];
};

/* The watch of this path, or null. borrows: path. */
struct zr_watch *zr_watch_find(const struct zr_session *session, const char *path);

/*
 * Finds the watch of this path or makes one, for this many kinds of watches. Drop it with
 * zr_watch_drop_if_unused. borrows: path. most: as of zr_watch_gone. Errors: ZR_NO_MEMORY, ZR_FULL.
 */
enum zr_status zr_watch_find_or_add(struct zr_session *session, const char *path, int kinds,
                                    size_t most, struct zr_watch **out);

/* If no task needs it: frees it if the client no longer watches its path; otherwise marks it
   idle. */
void zr_watch_drop_if_unused(struct zr_watch *watch);

/* Tells all that have joined (watch_follow.c). */
void zr_watch_tell(struct zr_watch *watch, unsigned used_up);

/* If a task waits until the node is gone, ensures that an event will come
   (watch_gone.c). Errors: ZR_NO_MEMORY. */
enum zr_status zr_watch_look(struct zr_watch *watch);

/* An event came: if tasks wait until a node is there, or is gone, reads it for them
   (watch_presence.c). */
void zr_presence_event(struct zr_watch *watch, enum zr_event_kind kind);

/* The session is lost: reads the node for them in the next one. Or it is closed: wakes them with
   `why`. */
void zr_presence_over(struct zr_watch *watch, enum zr_status why);

#endif
