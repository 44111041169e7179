#ifndef ZR_EYES_H
#define ZR_EYES_H

/*
 * eyes.h: lets one task wait for several things at once. The task awaits `moved`, which fires when
 * one of the things has happened, or when one of them cannot be watched (with that status). An
 * event only means "look again". Each eye is a task that watches one thing. Thread: the host's.
 */

#include "core/session.h"

struct zr_eyes {
    struct zr_session *session; /* borrowed */
    const char *subject;        /* for messages; borrowed */
    struct zr_list open;
    struct zr_signal moved;
};

/* keeps: session, subject, until all eyes are shut. */
void zr_eyes_init(struct zr_eyes *eyes, struct zr_session *session, const char *subject);

/* Opens an eye that waits until there is no such node. A node of this session needs no request.
   borrows: dir, name. Errors: ZR_NO_MEMORY. */
enum zr_status zr_eyes_gone(struct zr_eyes *eyes, const char *dir, const char *name);

/* Opens an eye that waits until the node is gone or its data differ from those written with this
   zxid. If such an eye is open already, it is kept. borrows: path. Errors: ZR_NO_MEMORY,
   ZR_FULL. */
enum zr_status zr_eyes_changed(struct zr_eyes *eyes, const char *path, int64_t mzxid);

/* Shuts the eyes that wait until a node is gone; to open them again costs no request. Eyes for data
   stay open, and serve the next zr_eyes_changed. */
void zr_eyes_blink(struct zr_eyes *eyes);

/* Shuts all eyes: nothing fires any more. Harmless if none is open. */
void zr_eyes_shut(struct zr_eyes *eyes);

#endif
