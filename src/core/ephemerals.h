#ifndef ZR_EPHEMERALS_H
#define ZR_EPHEMERALS_H

/*
 * ephemerals.h: how many bytes the paths of the session's ephemeral nodes are. When a session ends,
 * the server writes all of them into one transaction; one that is longer than it takes ends the
 * whole ensemble, and every start of it afterwards. Thread: the host's.
 */

#include "core/call.h"

/* A server takes 2,097,150 (twice jute.maxbuffer) with its default settings. 10,000 waiters have
   room for a directory's path of 75 bytes. */
#define ZR_EPHEMERAL_BYTES_MAX 1200000

/* What a node whose path has this length counts for, a number behind it included. */
size_t zr_ephemeral_bytes(size_t length);

/* True when there is room for so many more; they count from now on. */
bool zr_ephemerals_take(struct zr_session *session, size_t bytes);
void zr_ephemerals_give(struct zr_session *session, size_t bytes);

/*
 * Makes room for what this call creates, when it creates any, and sees to it that this counts as
 * long as it may be there: until this session has deleted it or has seen that it is gone. Not for
 * seats, which see to it themselves. Errors: ZR_FULL.
 */
enum zr_status zr_ephemerals_reserve(struct zr_call *call);

/* call.c: its answer is here. */
void zr_ephemerals_answered(struct zr_call *call);

/* The session: an event says that the node at this path was deleted. */
void zr_ephemerals_gone(struct zr_session *session, const char *path);

/* The session's generation is over. */
void zr_ephemerals_drop(struct zr_session *session);

#endif
