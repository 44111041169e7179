#ifndef ZR_WATCH_H
#define ZR_WATCH_H

/*
 * watch.h: the session's watches. One watch on the server serves any number of waiting tasks. If a
 * task gives up, the next task uses the watch that it left. An event only means "look again". Only
 * DELETED of a uniquely named node proves something. Thread: the host's.
 */

#include "core/session.h"

struct zr_task;

/*
 * After a reconnect the client registers all watches again in one request. If their paths, with 4
 * bytes for the length of each, are larger than this, the server refuses the request, and the
 * client reconnects forever. The last third is reserved for tasks that wait until a contender is
 * gone.
 */
#define ZR_WATCHED_BYTES_MAX 900000
#define ZR_WATCHED_BYTES_COMMON 600000

/*
 * Wakes the task when the node is gone, or when its word is enough (task->enough): task->resume
 * sees ZR_OK. If the watch is set already, no read is sent. Repeated over lost connections and
 * spurious events. borrows: path (with the namespace).
 *
 * most: ZR_WATCHED_BYTES_MAX or ZR_WATCHED_BYTES_COMMON: how many bytes may be watched in all.
 * task->awaited: the creation zxid of the node; if another node has this name, the first is gone.
 * 0: the node that is found first.
 *
 * Errors, without waking the task: ZR_NO_MEMORY, ZR_FULL (too much is watched). The task is woken
 * with another status if the read is refused (ZR_NO_AUTH), if the node is not ephemeral
 * (ZR_CONFLICT), or if the session is lost.
 */
enum zr_status zr_watch_gone(struct zr_task *task, const char *path, size_t most);

/*
 * Wakes the task when a read that was sent after this call has found a node at the path (there), or
 * none. All waiting tasks share one watch and one read. If the session is lost, the wait goes on in
 * the next one. borrows: path (with the namespace). Errors: as zr_watch_gone. The task is woken
 * with another status if the read is refused, or if the session is closed.
 */
enum zr_status zr_watch_presence(struct zr_task *task, const char *path, bool there);

/* The task no longer waits. */
void zr_watch_leave(struct zr_task *task);

/* True if a task of this session waits until this node is gone. */
bool zr_watch_awaited(const struct zr_session *session, const char *path);

/*
 * Follows the events at a path, where the follower's own requests (get, exists, children with
 * `watch` set) leave watches. Follow first, then look: so events during the look are counted.
 * kinds: 1 if these requests read either the znode or its children, 2 if they read both. most: as
 * of zr_watch_gone. gives: watch, until unfollow; it outlives the session's loss. borrows: path.
 * Errors: as zr_watch_gone.
 */
struct zr_watch;
enum zr_status zr_watch_follow(struct zr_session *session, const char *path, int kinds, size_t most,
                               struct zr_watch **watch);
void zr_watch_unfollow(struct zr_watch *watch); /* harmless for null */

/* True if the client has a watch on the znode itself: no event came since the read that left it. */
bool zr_watch_on_node(const struct zr_watch *watch);

/*
 * Follows a path as zr_watch_follow does, where there is no node yet, and asks for a watch if there
 * is none: zr_watch_made is true as soon as the event says that a node was made there, also if it
 * is gone again. The watch is not certain: it is not asked for again if the connection is lost
 * under the request.
 */
enum zr_status zr_watch_making(struct zr_session *session, const char *path, size_t most,
                               struct zr_watch **watch);
bool zr_watch_made(const struct zr_watch *watch);

/* How many events there were. The loss of the session counts as one, since its watches go with
   it. */
int64_t zr_watch_events(const struct zr_watch *watch);

/* Wakes the task when there have been more than `seen` events: task->resume sees ZR_OK. */
void zr_watch_await(struct zr_task *task, struct zr_watch *watch, int64_t seen);

/*
 * Follows a path as zr_watch_follow does, and is told of each event at once, inside the dispatch.
 * For one that follows so many paths that it cannot have a task for each.
 */
enum { ZR_ON_NODE = 1, ZR_ON_CHILDREN = 2 };
struct zr_follower {
    struct zr_watch *watch; /* null: it follows nothing */
    struct zr_link in_watch;
    /* An event has used up these watches (ZR_ON_NODE, ZR_ON_CHILDREN): what they stood for must be
       read again. The loss of the session uses up all. It may only make notes and wake tasks. */
    void (*told)(struct zr_follower *follower, unsigned used_up);
};

/* keeps: follower, until left; `told` must be set. Errors: as zr_watch_gone. */
enum zr_status zr_watch_join(struct zr_session *session, const char *path, int kinds, size_t most,
                             struct zr_follower *follower);
void zr_watch_part(struct zr_follower *follower); /* harmless if it follows nothing */

/* The one that joined the watch after this one; null for null: the first. Null: there is none. */
struct zr_follower *zr_watch_next(const struct zr_watch *watch, const struct zr_follower *follower);

/* A call with `watch` set is sent: from now on the bytes of its path count as watched, until an
   event ends the watch. gives: watch, until zr_watch_answered; null: the path is not followed. */
struct zr_watch *zr_watch_sent(struct zr_session *session, const char *path);

/* takes: watch, or null. generation: of the session, when the call was sent. borrows: request,
   answered. */
void zr_watch_answered(struct zr_watch *watch, int generation, const struct zr_request *request);

/* The session calls this: an event came. path: null stands for every path. */
void zr_watch_event(struct zr_session *session, const char *path, enum zr_event_kind kind);

/* The session is lost or closed: wakes all waiting tasks. */
void zr_watches_drop(struct zr_session *session, enum zr_status why);

#endif
