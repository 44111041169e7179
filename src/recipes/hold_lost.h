#ifndef ZR_HOLD_LOST_H
#define ZR_HOLD_LOST_H

/* hold_lost.h: waits until a hold has ended. Thread: the host's. */

#include "core/object.h"

/*
 * The method `lost` of holds and terms: starts a task that reports why the hold has ended:
 * "released", or the status word of its session's end. args: the limit; then, if given, any
 * integer: the task also waits when the hold's node cannot be watched. gives: task. Errors:
 * ZR_FORKED, ZR_NO_MEMORY.
 */
enum zr_status zr_hold_start_lost(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task);

#endif
