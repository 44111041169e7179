#ifndef ZR_TELL_H
#define ZR_TELL_H

/* tell.h: the methods by which a term says something about itself. Thread: the host's. */

#include "core/object.h"

/* term:proclaim(value), term:ready(). Errors: as zr_session_usable, why the term is over,
   ZR_NO_MEMORY. */
enum zr_status zr_term_proclaim(struct zr_object *self, struct zr_args *args,
                                struct zr_task **task);
enum zr_status zr_term_ready(struct zr_object *self, struct zr_args *args, struct zr_task **task);

/* The inner method term:tell_rank(): writes the newest rank of the handle. Errors: as above. */
enum zr_status zr_term_tell_rank(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task);

/* The inner method term:catch_up(), of a new term by rank: if update_rank came too late for its
   seat's data, writes them in the background. */
enum zr_status zr_term_catch_up(struct zr_object *self, struct zr_args *args, struct zr_sink *sink);

#endif
