#ifndef ZR_VERBS_H
#define ZR_VERBS_H

/*
 * verbs.h: what a step may do last. Each verb hides a small machine that survives lost
 * connections; the next step runs when it succeeded, never inside the call of the verb. A
 * failure ends the task (task.h). One verb at a time.
 *
 * All paths are complete, with the namespace. What a verb is given is borrowed until it returns,
 * unless it says "keeps".
 * Thread: the host's.
 */

#include "core/call.h"
#include "core/seat.h"
#include "core/signal.h"
#include "core/task.h"
#include "core/watch.h"

/*
 * claim: takes a seat in seat->dir and lists the directory in the same flight. Afterwards
 * task->seats is the listing and the seat is in it. Makes the directory when it is missing. A
 * create whose answer was lost is found again by its tag; when the numbers of the directory are
 * used up, it is drained and made anew. keeps: seat.
 * With seat->dir_data, which are made anew too, it may end without a seat, when the directory no
 * longer holds those.
 */
void zr_verb_claim(struct zr_task *task, struct zr_seat *seat, struct zr_next next);

/*
 * occupy: takes the node of a seat without a stem, unless somebody has it: afterwards the seat is
 * taken, or it is empty and seat->refused is ZR_NODE_EXISTS. Makes what is missing above.
 * keeps: seat.
 */
void zr_verb_occupy(struct zr_task *task, struct zr_seat *seat, struct zr_next next);

/* vacate: the seat's node is removed, until that is certain; or its session is over. For
   clean-ups: it copes with a seat in any state. keeps: seat. */
void zr_verb_vacate(struct zr_task *task, struct zr_seat *seat, struct zr_next next);

/* list: task->seats is a listing made after now, or null when there is no such directory. A task
   that is not bound to the session gets one of the next session, if this one is lost. keeps: dir.
 */
void zr_verb_list(struct zr_task *task, const char *dir, struct zr_next next);

/* await_gone: until there is no such contender, or what it says is enough (task->told; null:
   nothing is). A seat of this very session is waited for without a watch; when it goes, task->word
   is its last one. */
void zr_verb_await_gone(struct zr_task *task, const char *dir, const char *name, zr_enough *enough,
                        struct zr_next next);

/* await_free: as await_gone, for a node whose path is known. borrows: path. */
void zr_verb_await_free(struct zr_task *task, const char *path, struct zr_next next);

/* await_deleted: the same, but always by a watch, so that also a seat of ours is seen to go. czxid:
   which node; 0: the one that is there. */
void zr_verb_await_deleted(struct zr_task *task, const char *path, int64_t czxid,
                           struct zr_next next);

/* await: until the signal fires. The next step sees with what in task->outcome. */
void zr_verb_await(struct zr_task *task, struct zr_signal *signal, struct zr_next next);

/* await_change: until there have been more than `seen` events at a watch that is followed. */
void zr_verb_await_change(struct zr_task *task, struct zr_watch *watch, int64_t seen,
                          struct zr_next next);

/*
 * request: sends it; the next step runs whatever the server says, with the answer in task->call
 * and its status in task->outcome. A lost answer is no failure either (ZR_CONNECTION_LOSS), but
 * the request is sent again when `repeat` is set or when it surely was not sent.
 * takes: call.
 */
void zr_verb_request(struct zr_task *task, struct zr_call *call, bool repeat, struct zr_next next);

/* ask: makes such a request (op, path, data, version, mode, watch) and sends it like `request`.
   When it cannot be made it fails. borrows: what. */
void zr_verb_ask(struct zr_task *task, const struct zr_request *what, bool repeat,
                 struct zr_next next);

/* read: the same for one that does no harm twice: get, exists, children or sync. watch: it leaves a
   watch. */
void zr_verb_read(struct zr_task *task, enum zr_op op, const char *path, bool watch,
                  struct zr_next next);

/* ensure: makes the directory and all above it, as containers or as plain nodes. The namespace
   itself is made of plain nodes. keeps: dir. */
void zr_verb_ensure(struct zr_task *task, const char *dir, bool containers, struct zr_next next);

/* pause: for this long, give or take a quarter. */
void zr_verb_pause(struct zr_task *task, int64_t duration_us, struct zr_next next);

/* fail: the verb of a step that cannot go on. */
void zr_verb_fail(struct zr_task *task, enum zr_status status);

#endif
