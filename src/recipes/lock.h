#ifndef ZR_LOCK_H
#define ZR_LOCK_H

/* lock.h: how `session:lock(path, options)` is told what to make. */

#include "core/zk.h"

struct zr_lock_options {
    struct zr_bytes data;
    bool unfair; /* fair = false */
};

#endif
