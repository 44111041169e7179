#ifndef ZR_LOCK_REQUEST_H
#define ZR_LOCK_REQUEST_H

/* lock_request.h: the method lock:request. Thread: the host's. */

#include "recipes/contest_object.h"

/* Starts a task that asks the holders to release and gives how many it asked. queue: false: the
   lock is unfair. borrows: limit, see zr_session_limit_us. Errors: as zr_session_usable,
   ZR_NO_MEMORY. */
enum zr_status zr_lock_request(struct zr_contest *lock, bool queue, const struct zr_arg *limit,
                               struct zr_task **task);

#endif
