#ifndef ZR_WATCH_H
#define ZR_WATCH_H

/*
 * watch.h: the session's watches. One watch on the server serves any number of waiting tasks, and
 * one that is left behind by a task that gave up serves the next. An event means "look again";
 * only DELETED of a uniquely named node proves something. Thread: the host's.
 */

#include "core/session.h"

struct zr_task;

/* Watches of more bytes than this, with 4 for the length of each path, cannot be registered again
   in one request after a reconnect: the server would refuse it, and the client would reconnect for
   ever. The last third is for those who wait for a contender to go. */
#define ZR_WATCHED_BYTES_MAX 900000
#define ZR_WATCHED_BYTES_COMMON 600000

/*
 * most: ZR_WATCHED_BYTES_MAX or ZR_WATCHED_BYTES_COMMON, how much may be watched with this.
 * task->awaited: which node, by its creation zxid; another one of this name means that it is gone.
 * 0: the one that is found first. Wakes the task when the node is gone, or says what is enough
 * (task->enough): task->resume sees ZR_OK. The read is not sent when the watch is set already.
 * Repeated over lost connections and spurious events. borrows: path (with the namespace). Errors,
 * then the task is not woken: ZR_NO_MEMORY, ZR_FULL (too much is watched). The task is woken with
 * another status when the read is refused (ZR_NO_AUTH), when the node is not ephemeral
 * (ZR_CONFLICT), or when the session is lost.
 */
enum zr_status zr_watch_gone(struct zr_task *task, const char *path, size_t most);

/* The task waits no more. */
void zr_watch_leave(struct zr_task *task);

/* A task of this session waits for its going. */
bool zr_watch_awaited(const struct zr_session *session, const char *path);

/*
 * Follows the events at a path, where the follower's own requests (get, exists, children with
 * `watch` set) leave watches. Follow first, then look: what happens while one looks is counted.
 * kinds: 1 if these requests read either the znode or its children, 2 if they read both. most: as
 * of zr_watch_gone. gives: watch, until unfollow; it outlives the session's loss. borrows: path.
 * Errors as above.
 */
struct zr_watch;
enum zr_status zr_watch_follow(struct zr_session *session, const char *path, int kinds, size_t most,
                               struct zr_watch **watch);
void zr_watch_unfollow(struct zr_watch *watch); /* harmless for null */

/* The client has a watch on the znode itself: no event has come since the read that left it. */
bool zr_watch_on_node(const struct zr_watch *watch);

/* How many events there were; the loss of the session, and with it of its watches, counts too. */
int64_t zr_watch_events(const struct zr_watch *watch);

/* Wakes the task when there have been more than `seen`: task->resume sees ZR_OK. */
void zr_watch_await(struct zr_task *task, struct zr_watch *watch, int64_t seen);

/* A call with `watch` set is sent: what the client will watch for its path is counted from now on,
   until an event ends it. gives: watch, until zr_watch_answered; null: nobody follows the path. */
struct zr_watch *zr_watch_sent(struct zr_session *session, const char *path);

/* takes: watch, or null. generation: of the session, when sent. borrows: request, answered. */
void zr_watch_answered(struct zr_watch *watch, int generation, const struct zr_request *request);

/* The session: an event came; a null path stands for every path. */
void zr_watch_event(struct zr_session *session, const char *path, enum zr_event_kind kind);

/* The session is lost or closed: wakes all that wait. */
void zr_watches_drop(struct zr_session *session, enum zr_status why);

#endif
