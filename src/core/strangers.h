#ifndef ZR_STRANGERS_H
#define ZR_STRANGERS_H

/*
 * strangers.h: znodes in the directories of locks that are named like contenders but are not
 * ephemeral. No recipe of ours, Curator's or kazoo's makes such a znode. One whose name no such
 * recipe would give (zr_is_usual) is ignored. One with a usual name may be somebody's idea of a
 * hold that outlives its session, so it stands in the way, and the error names it. Thread: the
 * host's.
 */

#include "core/listing.h"

/*
 * A contender's znode was read, and is not ephemeral: true: it is to be ignored; listings leave it
 * out until it changes. The connection must watch it. borrows: path (with the namespace).
 */
bool zr_stranger_ignored(struct zr_session *session, const char *path);

/* Why nobody is granted anything behind this znode; the session's. borrows: path. */
const char *zr_stranger_blamed(struct zr_session *session, const char *path);

/* Takes those that are ignored out of a listing of `dir`. */
void zr_strangers_leave_out(const struct zr_session *session, const char *dir,
                            struct zr_seats *seats);

/* Something has happened to this path, or may have to any (null): it is looked at again. */
void zr_strangers_doubt(struct zr_session *session, const char *path);

/* The session is freed. */
void zr_strangers_fini(struct zr_session *session);

#endif
