#ifndef ZR_UNFAIR_H
#define ZR_UNFAIR_H

/*
 * unfair.h: attempts for a contest whose path is one node, without a queue below it.
 * Thread: the host's.
 */

#include "recipes/contest.h"

/* As zr_contest_start; the stem of the role is not used. */
enum zr_status zr_unfair_start(struct zr_contest *contest, const struct zr_role *role,
                               const struct zr_arg *timeout, struct zr_task **task);

/* As zr_contest_contenders: the holder, if there is one. */
enum zr_status zr_unfair_contenders(struct zr_object *self, const char *method,
                                    struct zr_args *args, struct zr_task **task);

#endif
