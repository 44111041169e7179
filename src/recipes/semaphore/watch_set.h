#ifndef ZR_WATCH_SET_H
#define ZR_WATCH_SET_H

/*
 * watch_set.h: lets one task wait for several things at once: the ends of the seats ahead, and a
 * change of the limit. The task awaits `moved`, which fires when the set has changed. Each member
 * of the set is a task that watches one thing. Thread: the host's.
 */

#include "core/session.h"

struct zr_watch_set {
    struct zr_session *session; /* borrowed */
    const char *subject;        /* for messages; borrowed */
    struct zr_list members;
    struct zr_signal moved;
    size_t count;          /* of the seats that are not gone */
    int64_t permits;       /* ... which they have together */
    size_t added;          /* seats, gone or not ... */
    size_t children;       /* ... and nodes in the directory when its data were read */
    enum zr_status failed; /* why a member cannot be watched; ZR_OK: all can */
    char *in_the_way;      /* with ZR_CONFLICT: the name of the node that is not ephemeral; owned */
};

/* keeps: session, subject, until the set is cleared. */
void zr_watch_set_init(struct zr_watch_set *set, struct zr_session *session, const char *subject);

/* Adds a member that waits until this seat is gone, from zr_watch_set_begin on. borrows: name.
   Errors: ZR_NO_MEMORY. */
enum zr_status zr_watch_set_add_seat(struct zr_watch_set *set, const char *name, int64_t permits);

/* Begins to wait for the seats that were added since it was called last. A seat of this session
   needs no request. borrows: dir. */
void zr_watch_set_begin(struct zr_watch_set *set, const char *dir);

/* Adds the member that waits until the directory's data differ from those written with this zxid.
   Add it before the seats. If it is there and they certainly do not differ, it is kept. borrows:
   dir. Errors: ZR_NO_MEMORY, ZR_FULL. */
enum zr_status zr_watch_set_add_data(struct zr_watch_set *set, const char *dir, int64_t mzxid);

/* The directory's data. UNKNOWN: their read is out. SAME: at the last moment that the server has
   told us of, they were those written with this zxid, so whatever is known to be gone was gone
   under them. */
enum zr_watch_data { ZR_DATA_UNKNOWN, ZR_DATA_SAME, ZR_DATA_CHANGED };
enum zr_watch_data zr_watch_set_data(const struct zr_watch_set *set, int64_t mzxid);

/* The name of the next seat that is not gone. at: null at first; the function moves it. Null: that
   was the last one. */
const char *zr_watch_set_next(const struct zr_watch_set *set, const struct zr_link **at);

/* Removes the seats; to add them again costs no request. */
void zr_watch_set_remove_seats(struct zr_watch_set *set);

/* Removes all members: nothing fires any more. Harmless if there is none. */
void zr_watch_set_clear(struct zr_watch_set *set);

#endif
