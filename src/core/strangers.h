#ifndef ZR_STRANGERS_H
#define ZR_STRANGERS_H

/*
 * strangers.h: znodes in the directories of contenders that are named like contenders but are not
 * ephemeral. None of our recipes and none of Curator's makes such a znode. If no such recipe would
 * give it its name (zr_is_usual), it is ignored. If the name is usual, a user may have made the
 * znode to lock the path beyond the end of a session. So it blocks the attempts, and the error
 * names it. Thread: the host's.
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
 * out until it changes. If it has changed since the read, nothing is recorded. In both cases the
 * caller lists the directory again. borrows: path.
 */
void zr_stranger_ignored(struct zr_session *session, const char *path);

/* Sets task->detail: no attempt behind this znode is granted. borrows: path. */
void zr_stranger_blamed(struct zr_task *task, const char *path);

/* Removes the ignored znodes from a listing of `dir`. */
void zr_strangers_leave_out(struct zr_session *session, const char *dir, struct zr_seats *seats);

/* An event came for this path, or for an unknown path (null): what is known of it is forgotten. */
void zr_strangers_doubt(struct zr_session *session, const char *path);

/* The session is freed. */
void zr_strangers_fini(struct zr_session *session);

#endif
