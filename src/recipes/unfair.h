#ifndef ZR_UNFAIR_H
#define ZR_UNFAIR_H

/*
 * unfair.h: attempts for the one node that a contest's path is, instead of a queue below it.
 * Thread: the host's.
 */

#include "recipes/contest.h"

/* As zr_contest_start; the stem of the role does not matter. */
enum zr_status zr_unfair_start(struct zr_contest *contest, const struct zr_role *role,
                               const struct zr_arg *timeout, struct zr_task **task);

/* Method: the holder, if there is one. */
enum zr_status zr_unfair_contenders(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task);

#endif
