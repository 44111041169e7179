#ifndef ZR_GUARDED_H
#define ZR_GUARDED_H

/*
 * guarded.h: the writes of a hold, as methods of its class. Each is one request that begins with a
 * check of the hold's own node. Thread: the host's.
 */

#include "plain/request.h"

/* Why a write did nothing: its check has failed. */
#define ZR_HOLD_GONE                                                                               \
    "the hold's znode is gone and another contender may hold the lock; nothing was written"

/* As above, if the data of the directory say who holds. */
#define ZR_HOLD_DEPOSED                                                                            \
    "the directory does not name this term any more, and another one may lead; nothing was "       \
    "written"

extern const struct zr_option zr_guarded_create_options[];

/* self is a struct zr_hold. */
zr_start zr_guarded_create, zr_guarded_set, zr_guarded_delete, zr_guarded_multi;

#define ZR_GUARDED_METHODS                                                                         \
    {.name = "create",                                                                             \
     .args = "pd?o?",                                                                              \
     .options = zr_guarded_create_options,                                                         \
     .options_size = sizeof(struct zr_create_options),                                             \
     .start = zr_guarded_create},                                                                  \
        ZR_PLAIN_METHOD("set", "pd?v?", zr_guarded_set),                                           \
        ZR_PLAIN_METHOD("delete", "pv?", zr_guarded_delete),                                       \
        ZR_PLAIN_METHOD("multi", "m", zr_guarded_multi)

#endif
