#ifndef ZR_WATCH_H
#define ZR_WATCH_H

/*
 * watch.h: the session's watches. One watch on the server serves any number of waiting tasks, and
 * one that is left behind by a task that gave up serves the next. An event means "look again";
 * only DELETED of a uniquely named node proves something. Thread: the host's.
 */

#include "core/session.h"

struct zr_task;

/* Paths of more bytes than this cannot be registered again in one request after a reconnect: the
   server would refuse it, and the client would reconnect for ever. */
#define ZR_WATCHED_BYTES_MAX 900000

/*
 * Wakes the task when the node is gone: task->resume sees ZR_OK. Not sent when the watch is set
 * already. Repeated over lost connections and spurious events. borrows: path (with the
 * namespace). Errors, then the task is not woken: ZR_NO_MEMORY, ZR_FULL (too much is watched).
 * The task is woken with another status when the read is refused (ZR_NO_AUTH) or the session is
 * lost.
 */
enum zr_status zr_watch_gone(struct zr_task *task, const char *path);

/*
 * Wakes the task at the next event at `path`, where its own requests (get, exists or children with
 * `watch` set, which have been answered) have left watches. Errors as above.
 */
enum zr_status zr_watch_change(struct zr_task *task, const char *path);

/* ZR_OK when one more path of this length may be watched. */
enum zr_status zr_watch_room(const struct zr_session *session, const char *path);

/* The session: an event came; a null path stands for every path. */
void zr_watch_event(struct zr_session *session, const char *path, enum zr_event_kind kind);

/* The session is lost or closed: wakes all that wait. */
void zr_watches_drop(struct zr_session *session, enum zr_status why);

#endif
