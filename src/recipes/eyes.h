#ifndef ZR_EYES_H
#define ZR_EYES_H

/*
 * eyes.h: several things looked at by one waiting task: it awaits `moved`, which fires when one of
 * them has happened, or when one of them cannot be looked at (with that status). An event means
 * "look again". Each eye is a task of its own. Thread: the host's.
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

/* Looks until there is no such node; a node of this very session is looked at without a request.
 * borrows: dir, name. Errors: ZR_NO_MEMORY. */
enum zr_status zr_eyes_gone(struct zr_eyes *eyes, const char *dir, const char *name);

/* Looks until the data of the node are others than those that were written with this zxid, or it
   is gone. One that does so already is kept. borrows: path. Errors: ZR_NO_MEMORY, ZR_FULL. */
enum zr_status zr_eyes_changed(struct zr_eyes *eyes, const char *path, int64_t mzxid);

/* Shuts those that look until a node is gone; to open them again costs no request. Those that look
   at data stay open, and serve the next zr_eyes_changed. */
void zr_eyes_blink(struct zr_eyes *eyes);

/* Shuts all: nothing fires any more. Harmless when none is open. */
void zr_eyes_shut(struct zr_eyes *eyes);

#endif
