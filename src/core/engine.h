#ifndef ZR_ENGINE_H
#define ZR_ENGINE_H

/*
 * engine.h: one engine per language state. It owns the timers, the tasks that are ready to run, and
 * the tasks that have something to report. All of them move only inside zr_engine_dispatch
 * (dispatch.h). Thread: the host's.
 */

#include <sys/types.h>

#include "core/object.h"
#include "core/timer.h"
#include "core/zk.h"

struct zr_engine {
    struct zr_zk *zk;
    const struct zr_recipe *const *recipes; /* ends with null; see stem.h */
    struct zr_timers timers;
    struct zr_list incoming; /* struct zr_message: taken from the inbox, not yet handled */
    struct zr_list ready;    /* struct zr_task: may go on */
    struct zr_list reported; /* struct zr_task: finished for its waiter */
    struct zr_list sessions; /* struct zr_session */
    struct zr_list notes;    /* struct zr_note (session.h): lines for the log, oldest first */
    int note_count;
    pid_t pid;
    uint64_t random; /* state of the generator of jitter */
    bool dispatching, poked;
    int refs; /* the binding, and every session until its handles have ended */
};

/* takes: zk (also when it fails). keeps: recipes, a list that ends with null. gives: engine, with
   one reference. Errors: ZR_NO_MEMORY. */
enum zr_status zr_engine_new(struct zr_zk *zk, const struct zr_recipe *const *recipes,
                             struct zr_engine **engine);

/* The engine is freed when its last session has ended and its last reference is gone. */
void zr_engine_ref(struct zr_engine *engine);
void zr_engine_unref(struct zr_engine *engine);

/* How long the host may sleep: microseconds until something is due, 0 if something is due now, -1
   if it can sleep until the descriptor is readable. */
int64_t zr_engine_timeout_us(struct zr_engine *engine);

/* The core calls this when work appears outside of a dispatch, so that the host dispatches. */
void zr_engine_poke(struct zr_engine *engine);

int64_t zr_engine_now_us(const struct zr_engine *engine);

/* A number from 0 to below - 1, for jitter. Same seed, same numbers. */
uint64_t zr_engine_random(struct zr_engine *engine, uint64_t below);
void zr_engine_seed(struct zr_engine *engine, uint64_t seed);

/* True in a child of the process that made the engine: the child may not use anything of it. */
bool zr_engine_forked(const struct zr_engine *engine);

#endif
