#ifndef ZR_VERBS_H
#define ZR_VERBS_H

/*
 * verbs.h: what a step may do as its last act. Each verb hides a small state machine that survives
 * lost connections. The next step runs if the verb succeeded, never inside the call of the verb. A
 * failure ends the task (task.h). One verb at a time.
 *
 * All paths have the namespace already. Arguments are borrowed until the verb's function returns,
 * unless it says "keeps". Thread: the host's.
 */

#include "core/call.h"
#include "core/seat.h"
#include "core/signal.h"
#include "core/task.h"
#include "core/watch.h"

/*
 * contend: takes a seat in seat->dir and lists the directory in the same flight. Afterwards
 * task->seats is the listing and the seat is in it. Makes the directory if it is missing. Finds a
 * create whose answer was lost by its tag. If the numbers of the directory are used up, waits until
 * it is empty and makes it again with the data that it has, at another version. Fails with
 * ZR_CONFLICT if a znode in it is not ephemeral. keeps: seat.
 */
void zr_verb_contend(struct zr_task *task, struct zr_seat *seat, struct zr_next next);

/*
 * occupy: takes the node of a seat without a stem, if it is free. Afterwards the seat is taken, or
 * it is empty and seat->refused is ZR_NODE_EXISTS. Makes missing parents. keeps: seat.
 */
void zr_verb_occupy(struct zr_task *task, struct zr_seat *seat, struct zr_next next);

/* vacate: deletes the seat's node, until it is certainly gone, or the seat's session is over. For
   clean-ups: the seat may be in any state. keeps: seat. */
void zr_verb_vacate(struct zr_task *task, struct zr_seat *seat, struct zr_next next);

/* list: task->seats is a listing made after this call, or null if there is no such directory. If
   the session is lost, a task that is not bound to it gets a listing of the next session. keeps:
   dir. */
void zr_verb_list(struct zr_task *task, const char *dir, struct zr_next next);

/* await_gone: waits until there is no such contender, or until its word is enough (task->told;
   `enough` null: no word is). For a seat of this session no watch is set; when the seat goes,
   task->word is its last word. */
void zr_verb_await_gone(struct zr_task *task, const char *dir, const char *name, zr_enough *enough,
                        struct zr_next next);

/* await_free: as await_gone, for a node whose path is known. borrows: path. */
void zr_verb_await_free(struct zr_task *task, const char *path, struct zr_next next);

/* await_deleted: as await_free, but always by a watch, so that it also sees the end of a seat of
   ours. czxid: of the node; 0: the node that is there now. */
void zr_verb_await_deleted(struct zr_task *task, const char *path, int64_t czxid,
                           struct zr_next next);

/* await_presence: waits until there is a node at this path (there), or until there is none; any
   node counts. If the session is lost, a task that is not bound to it goes on in the next session.
   See zr_watch_presence. borrows: path. */
void zr_verb_await_presence(struct zr_task *task, const char *path, bool there,
                            struct zr_next next);

/* await: waits until the signal fires. The next step sees its outcome in task->outcome. */
void zr_verb_await(struct zr_task *task, struct zr_signal *signal, struct zr_next next);

/* await_change: waits until there have been more than `seen` events at a watch that is followed. */
void zr_verb_await_change(struct zr_task *task, struct zr_watch *watch, int64_t seen,
                          struct zr_next next);

/* await_change_for: as await_change, but not longer than this. */
void zr_verb_await_change_for(struct zr_task *task, struct zr_watch *watch, int64_t seen,
                              int64_t most_us, struct zr_next next);

/*
 * request: sends it. The next step runs for any answer of the server, with the answer in task->call
 * and its status in task->outcome. It also runs if the answer was lost (ZR_CONNECTION_LOSS). If
 * `repeat` is set, or if the request certainly was not sent, it is sent again instead. takes: call.
 */
void zr_verb_request(struct zr_task *task, struct zr_call *call, bool repeat, struct zr_next next);

/* ask: makes a request from `what` (op, path, data, version, mode, watch) and sends it like
   `request`. Fails if it cannot be made. borrows: what. */
void zr_verb_ask(struct zr_task *task, const struct zr_request *what, bool repeat,
                 struct zr_next next);

/* read: an `ask` that is repeated, because it may be done twice: get, exists, children or sync.
   watch: it leaves a watch. */
void zr_verb_read(struct zr_task *task, enum zr_op op, const char *path, bool watch,
                  struct zr_next next);

/* As `read`, for a task that goes on if the request cannot be made: then it returns why
   (ZR_NO_MEMORY, ZR_TOO_LARGE), and the verb has not begun. */
enum zr_status zr_verb_try_read(struct zr_task *task, enum zr_op op, const char *path, bool watch,
                                struct zr_next next);

/*
 * How `transact` finds out whether a transaction was done whose answer was lost. Zeroed, but for
 * the first three fields. They must show this transaction and no other: by a name, tag or version
 * that only this one writes.
 */
struct zr_transaction {
    enum zr_op op;    /* exists, get or children ... */
    const char *path; /* ... of this path (with the namespace) shows it */
    /* True if the transaction was done. answer: status ZR_OK or ZR_NO_NODE. */
    bool (*was_done)(struct zr_task *task, const struct zr_request *answer);
    struct zr_call *call; /* the multi, while it is not sent; taken */
    struct zr_call *sync;
};

/* Frees what it has, but not itself. For the task's `free`. */
void zr_transaction_fini(struct zr_transaction *transaction);

/*
 * transact: sends a multi that must be done once. The next step runs with the outcome in
 * task->outcome: ZR_OK, it was done; otherwise the server has refused it, and nothing was done.
 * (task->call is the multi if its answer came; it may be the read that has shown that it was done.)
 *
 * If the answer is lost, or there was no memory for it, the server is asked: a sync, and behind it
 * the transaction's read. If the multi was not done, it is sent again. But in rare cases a multi
 * of an earlier session or connection is done after that read. If that would do harm, its parts
 * must fail the second time, by a name or a version, and the next step must know that failure.
 *
 * The verb fails if the read is refused: then the outcome is unknown, and the message says so. It
 * fails with ZR_TOO_LARGE if the server drops the connection each time that it gets a large multi.
 * An interrupted task leaves the outcome unknown, too. A limit that passes meanwhile is always
 * ZR_CONNECTION_LOSS, never ZR_TIMEOUT. If the session is lost, a task that is not bound to it goes
 * on in the next session; a call that is bound fails with ZR_LOST if it was not done.
 *
 * takes: call. keeps: transaction and its path.
 */
void zr_verb_transact(struct zr_task *task, struct zr_call *call,
                      struct zr_transaction *transaction, struct zr_next next);

/* ensure: makes the directory and all its parents, as containers or as plain nodes. The namespace
   itself is made of plain nodes. keeps: dir. */
void zr_verb_ensure(struct zr_task *task, const char *dir, bool containers, struct zr_next next);

/* pause: waits for this long, give or take a quarter. */
void zr_verb_pause(struct zr_task *task, int64_t duration_us, struct zr_next next);

/* fail: for a step that cannot continue. */
void zr_verb_fail(struct zr_task *task, enum zr_status status);

#endif
