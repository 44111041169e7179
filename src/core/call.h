#ifndef ZR_CALL_H
#define ZR_CALL_H

/*
 * call.h: one ZooKeeper request. Waits until there is a connection, keeps the number in flight
 * bounded, and brings the answer to its owner, never inside the function that started it.
 * Thread: the host's.
 */

#include "core/session.h"
#include "core/size.h"

/* Requests of one session that may be out at once; more wait here. */
#define ZR_IN_FLIGHT_MAX 2000

/* No more go out while so many bytes of data are: heartbeats stand behind what is out. */
#define ZR_OUT_BYTES_MAX 4000000

enum zr_call_state { ZR_CALL_NEW, ZR_CALL_QUEUED, ZR_CALL_OUT, ZR_CALL_BACK };

struct zr_call {
    struct zr_request request; /* first: what the inbox brings is a call */
    enum zr_call_state state;
    struct zr_session *session;         /* counted */
    struct zr_link in_queue;            /* of the session */
    void (*done)(struct zr_call *call); /* the answer is in `request` */
    void *owner;                        /* whom `done` serves */
    struct zr_acl *acl;                 /* ours, or null: the session's */
    bool bound;                         /* not to be sent in a later generation ... */
    int generation;                     /* ... than this one: it comes back with ZR_LOST */
    int sent_in;                        /* the generation in which it was sent last ... */
    struct zr_watch *watch;             /* ... and what it will leave a watch for, see watch.h */
    size_t reserved;                    /* see ephemerals.h */
    char room[];                        /* path, data, created */
};

/*
 * gives: a request for `path` (with the namespace in front), with copies of path and data, and
 * the session's ACL. Errors: ZR_NO_MEMORY, ZR_TOO_LARGE.
 */
enum zr_status zr_call_new(struct zr_session *session, enum zr_op op, const char *path,
                           struct zr_bytes data, struct zr_call **call);

/* The same for a path that is complete already. */
enum zr_status zr_call_new_full(struct zr_session *session, enum zr_op op, const char *path,
                                struct zr_bytes data, struct zr_call **call);

/* gives: a multi of these parts (copied), with the namespace put in front of each path.
   `guard`, a path that is complete already, is checked first when it is not null.
   Errors: ZR_NO_MEMORY, ZR_TOO_LARGE. */
enum zr_status zr_call_new_multi(struct zr_session *session, const char *guard,
                                 const struct zr_request *parts, size_t count,
                                 struct zr_call **call);

/* Replaces the session's ACL by a copy of this one. borrows: acls. Errors: ZR_NO_MEMORY, and
   ZR_TOO_LARGE: the request has become so. */
enum zr_status zr_call_set_acl(struct zr_call *call, const struct zr_acls *acls);

/* The request is complete now, with all that was set after it was made. Errors: ZR_TOO_LARGE. */
enum zr_status zr_call_fits(const struct zr_call *call);

/* Sends it as soon as there is a connection and room. keeps: call and owner, until `done`. */
void zr_call_start(struct zr_call *call, void (*done)(struct zr_call *call), void *owner);

/* Sends a call that came back once more, to the same owner. */
void zr_call_again(struct zr_call *call);

/* takes: call, or null. Its answer, if it is still out, is thrown away. */
void zr_call_free(struct zr_call *call);

/* True when it is bound to a generation that is over: it may not be sent again. */
bool zr_call_stale(const struct zr_call *call);

/* The session: its generation is over; gives back what waited and was bound to it. */
void zr_call_give_back_stale(struct zr_session *session);

/* The session: sends what waits and may go now. */
void zr_call_flush(struct zr_session *session);

/* The engine: a request came back. */
void zr_call_reply(struct zr_request *request);

/* gives: a copy of the list in one block, or null when memory is exhausted. */
struct zr_acl *zr_acls_copy(const struct zr_acls *acls);

#endif
