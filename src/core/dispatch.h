#ifndef ZR_DISPATCH_H
#define ZR_DISPATCH_H

/*
 * dispatch.h: runs the engine. It stands on all layers; for the code that drives an engine.
 * Thread: the host's.
 */

#include "core/engine.h"

struct zr_task;

/* Closes every session; see zr_session_close. */
void zr_engine_close(struct zr_engine *engine, int64_t linger_us);

/* True when no session has anything on the wire. */
bool zr_engine_ended(const struct zr_engine *engine);

/*
 * Does the work that is due, at most about `limit` steps, and returns how many it did. If work is
 * left, the descriptor stays readable. Must not be called from inside itself.
 */
int zr_engine_dispatch(struct zr_engine *engine, int limit);

/* The next task that has finished for its waiter, or null. It stays the binding's until dropped. */
struct zr_task *zr_engine_next_reported(struct zr_engine *engine);

#endif
