#ifndef ZR_MAKE_ROOM_H
#define ZR_MAKE_ROOM_H

/* make_room.h: waits until a named successor is next in the queue. Thread: the host's. */

#include "core/task.h"

/* The inner method term:make_room(heir [, between [, timeout]]). heir: the name of the successor's
   node. Gives true: no candidate is between the term and the successor. Or, if `between` is not
   given: the name of the nearest candidate between, and the successor's number. Then the caller
   writes that number into the term's node, and calls again with that name. */
enum zr_status zr_make_room(struct zr_object *self, struct zr_args *args, struct zr_task **task);

#endif
