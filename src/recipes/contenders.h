#ifndef ZR_CONTENDERS_H
#define ZR_CONTENDERS_H

/*
 * contenders.h: the contenders in a queue of seats, in queue order, with their data. For the method
 * `contenders` of every recipe whose queue is a directory of seats. Thread: the host's.
 */

#include "core/task.h"

/*
 * Starts a task that gives a list of { data, token, holding, shared, permits, session, since }. It
 * sends one listing, then one read per contender, all in flight at once. keeps: self (counted),
 * method ("lock:contenders", for messages; static), dir and subject (self's). borrows: limit, see
 * zr_session_limit_us. Errors: as zr_session_usable, ZR_NO_MEMORY.
 */
enum zr_status zr_contenders_start(struct zr_session *session, struct zr_object *self,
                                   const char *method, const char *dir, const char *subject,
                                   const struct zr_arg *limit, struct zr_task **task);

/* As zr_contenders_start, for a recipe without a queue: the list has the holder of the node `path`,
   or is empty. */
enum zr_status zr_contenders_start_one(struct zr_session *session, struct zr_object *self,
                                       const char *method, const char *path, const char *subject,
                                       const struct zr_arg *limit, struct zr_task **task);

#endif
