#ifndef ZR_MAKE_ROOM_H
#define ZR_MAKE_ROOM_H

/* make_room.h: resigns to a named successor that stands in a queue. Thread: the host's. */

#include "core/task.h"

/* The inner method term:resign_to(heir [, timeout]). heir: the name of the successor's node. Ends
   the term when no candidate is between it and the successor. */
enum zr_status zr_make_room(struct zr_object *self, struct zr_args *args, struct zr_task **task);

#endif
