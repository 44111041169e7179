#include "core/engine.h"

#include "core/alloc.h"
#include "core/pid.h"

enum zr_status zr_engine_new(struct zr_zk *zk, const struct zr_recipe *const *recipes,
                             struct zr_engine **engine)
{
    *engine = zr_alloc(sizeof(**engine));
    if (*engine == NULL) {
        zk->free(zk);
        return ZR_NO_MEMORY;
    }
    (*engine)->zk = zk;
    (*engine)->recipes = recipes;
    (*engine)->pid = zr_pid();
    (*engine)->random = 0x9e3779b97f4a7c15u;
    (*engine)->refs = 1;
    zr_list_init(&(*engine)->incoming);
    zr_list_init(&(*engine)->ready);
    zr_list_init(&(*engine)->reported);
    zr_list_init(&(*engine)->sessions);
    zr_list_init(&(*engine)->notes);
    return ZR_OK;
}

void zr_engine_ref(struct zr_engine *engine)
{
    engine->refs++;
}

static void destroy(struct zr_engine *engine)
{
    engine->zk->free(engine->zk);
    zr_free(engine);
}

void zr_engine_unref(struct zr_engine *engine)
{
    if (--engine->refs == 0)
        destroy(engine);
}

/* ---- What there is to do ------------------------------------------------------------------- */

void zr_engine_poke(struct zr_engine *engine)
{
    if (engine->dispatching || engine->poked)
        return;
    engine->poked = true;
    engine->zk->wake(engine->zk);
}

int64_t zr_engine_timeout_us(struct zr_engine *engine)
{
    if (!zr_list_empty(&engine->ready) || !zr_list_empty(&engine->incoming) ||
        !zr_list_empty(&engine->reported))
        return 0;
    int64_t next = zr_timers_next(&engine->timers);
    if (next == INT64_MAX)
        return -1;
    int64_t now = zr_engine_now_us(engine);
    return next > now ? next - now : 0;
}

/* ---- Time, chance, fork -------------------------------------------------------------------- */

int64_t zr_engine_now_us(const struct zr_engine *engine)
{
    return engine->zk->now_us(engine->zk);
}

uint64_t zr_engine_random(struct zr_engine *engine, uint64_t below)
{
    engine->random ^= engine->random << 13; /* xorshift64: for jitter, not for secrets */
    engine->random ^= engine->random >> 7;
    engine->random ^= engine->random << 17;
    return engine->random % below;
}

void zr_engine_seed(struct zr_engine *engine, uint64_t seed)
{
    engine->random = seed * 0x9e3779b97f4a7c15u | 1;
}

bool zr_engine_forked(const struct zr_engine *engine)
{
    return zr_pid() != engine->pid;
}
