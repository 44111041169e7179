#ifndef ZR_WATCH_SET_H
#define ZR_WATCH_SET_H

/*
 * watch_set.h: lets one task wait for several things at once. The task awaits `moved`, which fires
 * when one of the things has happened, or when one of them cannot be watched (with that status). An
 * event only means "look again". Each member of the set is a task that watches one thing. Thread:
 * the host's.
 */

#include "core/session.h"

struct zr_watch_set {
    struct zr_session *session; /* borrowed */
    const char *subject;        /* for messages; borrowed */
    struct zr_list members;
    struct zr_signal moved;
    char *in_the_way; /* with ZR_CONFLICT: the name of the node that is not ephemeral; owned */
};

/* keeps: session, subject, until the set is cleared. */
void zr_watch_set_init(struct zr_watch_set *set, struct zr_session *session, const char *subject);

/* Adds a member that waits until there is no such node. A node of this session needs no request.
   borrows: dir, name. Errors: ZR_NO_MEMORY. */
enum zr_status zr_watch_set_add_gone(struct zr_watch_set *set, const char *dir, const char *name);

/* Adds a member that waits until the node is gone or its data differ from those written with this
   zxid. If there is such a member already, it is kept. borrows: path. Errors: ZR_NO_MEMORY,
   ZR_FULL. */
enum zr_status zr_watch_set_add_changed(struct zr_watch_set *set, const char *path, int64_t mzxid);

/* Removes the members that wait until a node is gone; to add them again costs no request. Members
   for data stay, and serve the next zr_watch_set_add_changed. */
void zr_watch_set_remove_gone(struct zr_watch_set *set);

/* Removes all members: nothing fires any more. Harmless if there is none. */
void zr_watch_set_clear(struct zr_watch_set *set);

#endif
