#ifndef ZR_CALL_H
#define ZR_CALL_H

/*
 * call.h: one ZooKeeper request. It waits until there is a connection, limits how many requests are
 * in flight, and brings the answer to its owner, never inside the function that started it.
 * Thread: the host's.
 */

#include "core/session.h"
#include "core/request_size.h"

/* So many requests of one session may be in flight at once; the others wait in its queue. */
#define ZR_IN_FLIGHT_MAX 2000

/* While this many bytes of data are in flight, no request is sent, because heartbeats would wait
   behind it. */
#define ZR_OUT_BYTES_MAX 4000000

enum zr_call_state { ZR_CALL_NEW, ZR_CALL_QUEUED, ZR_CALL_OUT, ZR_CALL_BACK };

struct zr_call {
    struct zr_request request; /* first: what the inbox brings is a call */
    enum zr_call_state state;
    struct zr_session *session;         /* counted */
    struct zr_link in_queue;            /* of the session */
    void (*done)(struct zr_call *call); /* the answer is in `request` */
    void *owner;                        /* the object that `done` works for */
    struct zr_acl *acl;                 /* of this call; null: it uses the session's */
    bool bound;             /* true: it may be sent only in `generation`; later it comes back with
                               ZR_LOST */
    int generation;         /* of the session; if bound */
    bool tried;             /* it was sent, perhaps in vain */
    bool counted;           /* ephemerals.h: the bytes of its ephemeral nodes were reserved once */
    int sent_in;            /* the generation in which it was sent last */
    struct zr_watch *watch; /* for which the request that was sent last leaves a watch; or null */
    size_t reserved;        /* see ephemerals.h */
    char room[];            /* path, data, created */
};

/* ---- ACLs (call_acl.c) --------------------------------------------------------------------- */

/* The session's ACL, or the one that allows everything. */
struct zr_acls zr_acls_of(const struct zr_session *session);

/* gives: a copy of the list in one block, or null when memory is exhausted. */
struct zr_acl *zr_acls_copy(const struct zr_acls *acls);

/* The call is being freed: frees its own ACL and those of its parts. */
void zr_call_free_acls(struct zr_call *call);

/* ---- Making (call_new.c) ------------------------------------------------------------------- */

/*
 * gives: a request for `path` (with the namespace in front), with copies of path and data, and
 * the session's ACL. Errors: ZR_NO_MEMORY, ZR_TOO_LARGE.
 */
enum zr_status zr_call_new(struct zr_session *session, enum zr_op op, const char *path,
                           struct zr_bytes data, struct zr_call **call);

/* As zr_call_new, for a path that has the namespace already. */
enum zr_status zr_call_new_full(struct zr_session *session, enum zr_op op, const char *path,
                                struct zr_bytes data, struct zr_call **call);

/* gives: a multi of these parts (copied), with the namespace put in front of each path. If `guard`
   is not null, the multi checks first that this path exists; it has the namespace already. Errors:
   ZR_NO_MEMORY, ZR_TOO_LARGE. */
enum zr_status zr_call_new_multi(struct zr_session *session, const char *guard,
                                 const struct zr_request *parts, size_t count,
                                 struct zr_call **call);

/* Replaces the session's ACL by a copy of this one. borrows: acls. Errors: ZR_NO_MEMORY;
   ZR_TOO_LARGE if the request is too large with it. */
enum zr_status zr_call_set_acl(struct zr_call *call, const struct zr_acls *acls);

/* Checks the size again, after fields were set in the request. Errors: ZR_TOO_LARGE. */
enum zr_status zr_call_fits(const struct zr_call *call);

/* ---- Sending and taking back (call.c) ------------------------------------------------------ */

/* Sends it as soon as there is a connection and a free slot. keeps: call and owner, until
   `done`. */
void zr_call_start(struct zr_call *call, void (*done)(struct zr_call *call), void *owner);

/* Sends a call that has come back again, for the same owner. */
void zr_call_again(struct zr_call *call);

/* takes: call, or null. If its answer is still to come, the answer is thrown away. */
void zr_call_free(struct zr_call *call);

/* True if it is bound to a generation that is over, so that it may not be sent again. */
bool zr_call_stale(const struct zr_call *call);

/* The session calls this when its generation is over: gives back the waiting calls that are bound
   to that generation. */
void zr_call_give_back_stale(struct zr_session *session);

/* The session calls this: sends the waiting calls that may go now. */
void zr_call_flush(struct zr_session *session);

/* The engine calls this: a request has come back. */
void zr_call_reply(struct zr_request *request);

#endif
