#ifndef ZR_ANNOUNCE_H
#define ZR_ANNOUNCE_H

/*
 * announce.h: the end of a seat that was certainly the head of its queue, announced to the
 * contender behind it, which then knows without a listing that it is its turn. Thread: the host's.
 */

#include "core/seat.h"
#include "core/watch.h"

/* gives: the transaction that announces the seat's end, and deletes its node. Errors: ZR_NO_MEMORY,
   ZR_TOO_LARGE, ZR_BAD_ARGUMENTS (the seat is in no queue). */
enum zr_status zr_announce_new(const struct zr_seat *seat, struct zr_call **call);

/* Follows the announcement of this contender's end, if it can make one and is not of this session.
   gives: watch, until zr_announce_end; null: it is not followed. borrows: dir (with the namespace),
   name. */
void zr_announce_follow(struct zr_session *session, const char *dir, const char *name,
                        struct zr_watch **watch);

/* No longer follows it; harmless for null. True: it was announced, so that contender is gone, and
   nobody was ahead of it. */
bool zr_announce_end(struct zr_watch **watch);

#endif
