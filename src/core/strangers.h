#ifndef ZR_STRANGERS_H
#define ZR_STRANGERS_H

/*
 * strangers.h: znodes in the directories of locks that are named like contenders but are not
 * ephemeral. No recipe of ours and none of Curator's makes such a znode. If no such recipe would
 * give it its name (zr_is_usual), it is ignored. A znode with a usual name may be somebody's idea
 * of a hold that outlives its session, so it stands in the way, and the error names it. Thread: the
 * host's.
 */

#include "core/seats.h"
#include "core/session.h"

struct zr_task;

/*
 * Call this before the read of a znode that may be a stranger: the session counts the watch that
 * the read leaves, and notices an event that comes before zr_stranger_ignored. False: the name is
 * usual, or there is no room or no memory, so the znode cannot be ignored. borrows: path (with the
 * namespace).
 */
bool zr_stranger_suspected(struct zr_session *session, const char *path);

/*
 * The read has left a watch, and says that a suspected znode is not ephemeral: listings leave it
 * out until it changes. If it has changed since the read, nothing is noted; the caller lists the
 * directory again in either case. borrows: path.
 */
void zr_stranger_ignored(struct zr_session *session, const char *path);

/* Sets task->detail: no attempt is granted behind this znode. borrows: path. */
void zr_stranger_blamed(struct zr_task *task, const char *path);

/* Takes those that are ignored out of a listing of `dir`. */
void zr_strangers_leave_out(struct zr_session *session, const char *dir, struct zr_seats *seats);

/* Something has happened to this path, or may have to any (null): what is known of it is freed. */
void zr_strangers_doubt(struct zr_session *session, const char *path);

/* The session is freed. */
void zr_strangers_fini(struct zr_session *session);

#endif
