#ifndef ZR_LISTING_H
#define ZR_LISTING_H

/*
 * listing.h: the contenders in a directory, in queue order. Tasks that want the same listing at the
 * same time share one request. A task needs a listing that was requested after its own create, so
 * that it shows the task's own node. So ten thousand contenders of one session cost two listings,
 * not ten thousand. Thread: the host's.
 */

#include "core/seats.h"
#include "core/session.h"

struct zr_task;

/*
 * Wakes the task with a listing of `dir` (with the namespace) that was requested after this call,
 * in task->seats. task->resume sees in task->outcome ZR_OK, or why there is none (ZR_NO_NODE ...).
 * The request is repeated over lost connections. borrows: dir. Errors: ZR_NO_MEMORY, and the task
 * is not woken.
 */
enum zr_status zr_listing_ask(struct zr_task *task, const char *dir);

/* The session is lost or closed: wakes all tasks that wait for a listing. */
void zr_listings_drop(struct zr_session *session, enum zr_status why);

#endif
