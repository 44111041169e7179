#ifndef ZR_LOCK_H
#define ZR_LOCK_H

/* lock.h: the options of `session:lock(path, options)`. */

#include "core/zk.h"

struct zr_lock_options {
    struct zr_bytes data;
    bool unfair; /* fair = false */
    int64_t max_queue;
};

#endif
