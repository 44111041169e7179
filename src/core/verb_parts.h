#ifndef ZR_VERB_PARTS_H
#define ZR_VERB_PARTS_H

/*
 * verb_parts.h: the parts of which verbs are made; only for verbs.c, contend.c, occupy.c,
 * create_parts.c, transact.c, vacate.c and ensure.c. A part ends by calling `after`, or fails the
 * verb. Thread: the host's.
 */

#include "core/listing.h"
#include "core/verbs.h"

/* Frees the results of the last verb, and sets the function that continues. */
void zr_part_begin(struct zr_task *task, void (*resume)(struct zr_task *task));

/* Ends the verb with task->outcome. */
void zr_part_done(struct zr_task *task);

/* Ends the verb with this failure, in a later step of the dispatch. */
void zr_part_fail(struct zr_task *task, enum zr_status status);

/* Sends a request; `resume` sees its status in task->outcome. takes: call. */
void zr_part_send(struct zr_task *task, struct zr_call *call, void (*resume)(struct zr_task *));

/* Lists the directory into task->seats; `resume` sees in task->outcome whether there is a
   listing. */
void zr_part_list(struct zr_task *task, const char *dir, void (*resume)(struct zr_task *));

/* Continues after this long, give or take a quarter. */
void zr_part_pause(struct zr_task *task, int64_t duration_us, void (*resume)(struct zr_task *));

/* Wakes the task when there is no such contender, or when its word is enough. borrows: path.
   Errors: ZR_NO_MEMORY, ZR_FULL. */
enum zr_status zr_part_await_gone(struct zr_task *task, const char *path, zr_enough *enough);

/* Makes the directory that the first `length` bytes of the path name, with all its parents. keeps:
   path. */
void zr_part_ensure(struct zr_task *task, const char *path, size_t length, bool containers,
                    void (*after)(struct zr_task *task));

/* True if there is a session. If not, calls `begin` when there may be one. */
bool zr_part_connected(struct zr_task *task, void (*begin)(struct zr_task *task));

/* The create of task->seat has failed. Calls `begin` if it is worth another try, `exists` if a node
   of this name exists; otherwise fails the verb. */
void zr_part_refused(struct zr_task *task, void (*begin)(struct zr_task *task),
                     void (*exists)(struct zr_task *task));

/* Counts a connection that was lost under a request with this many bytes. True if it was lost so
   often that the server probably drops it because the request is too large. */
bool zr_part_too_large(struct zr_task *task, size_t bytes);

/* Settles an unsure seat (task->seat): afterwards it is taken or empty. */
void zr_part_find(struct zr_task *task, void (*after)(struct zr_task *task));

/* Empties task->seat, whatever its state. */
void zr_part_vacate(struct zr_task *task, void (*after)(struct zr_task *task));

#endif
