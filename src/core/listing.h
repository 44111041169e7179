#ifndef ZR_LISTING_H
#define ZR_LISTING_H

/*
 * listing.h: the contenders in a directory, in queue order. Tasks that want the same listing at
 * the same time share one request: a listing that was asked for after their own create shows
 * them their own node, so ten thousand contenders of one session cost two listings, not ten
 * thousand. Thread: the host's.
 */

#include "core/seats.h"
#include "core/session.h"

struct zr_task;

/*
 * Wakes the task with a listing of `dir` (with the namespace) that was asked for after this call,
 * in task->seats; task->resume sees ZR_OK, or why there is none (ZR_NO_NODE ...) in task->outcome.
 * Repeated over lost connections. borrows: dir. Errors: ZR_NO_MEMORY, and the task is not woken.
 */
enum zr_status zr_listing_ask(struct zr_task *task, const char *dir);

/* The session is lost or closed: wakes all that wait. */
void zr_listings_drop(struct zr_session *session, enum zr_status why);

#endif
