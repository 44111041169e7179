#ifndef ZR_EPHEMERALS_H
#define ZR_EPHEMERALS_H

/*
 * ephemerals.h: counts the bytes of the paths of the session's ephemeral nodes. When a session
 * ends, the server writes all of them into one transaction. If that is too large, the whole
 * ensemble stops, and stops again at each start. Thread: the host's.
 */

#include "core/call.h"

/* A server takes 2,097,150 (twice jute.maxbuffer) with its default settings. 10,000 waiters have
   room for a directory's path of 75 bytes. */
#define ZR_EPHEMERAL_BYTES_MAX 1200000

/* What a node counts for if its path has this length, with the number that the server may
   append. */
size_t zr_ephemeral_bytes(size_t length);

/* take: adds this many bytes to those in use. False: there is no room, and nothing was added. give:
   subtracts them. */
bool zr_ephemerals_take(struct zr_session *session, size_t bytes);
void zr_ephemerals_give(struct zr_session *session, size_t bytes);
size_t zr_ephemerals_room(const struct zr_session *session); /* how many can still be taken */

/*
 * If this call creates an ephemeral node, reserves room for it. The bytes count as long as the node
 * may exist: until this session has deleted it or has seen that it is gone. A seat does not need
 * this function: it counts its own bytes. Errors: ZR_FULL.
 */
enum zr_status zr_ephemerals_reserve(struct zr_call *call);

/* The session calls this: the call was answered. */
void zr_ephemerals_answered(struct zr_call *call);

/* The node at this path is not there: an event says that it was deleted (the session calls this),
   or the caller has found out what a call did whose answer was lost. */
void zr_ephemerals_gone(struct zr_session *session, const char *path);

/* The session calls this: its generation is over, and its ephemeral nodes are gone. */
void zr_ephemerals_drop(struct zr_session *session);

#endif
