#include "core/alloc.h"
#include "lua/binding.h"

/*
 * Tasks with a waiter, under small numbers that are reused. The Lua layer keeps its waiters in the
 * array part of a table, which so never grows beyond the largest number of waiters at one time.
 */

#define FIRST_SIZE 16

static void add_free(struct lua_engine *engine, int from)
{
    for (int i = engine->size - 1; i >= from; i--) {
        engine->slots[i].next_free = engine->first_free;
        engine->first_free = i;
    }
}

bool zr_slots_reserve(struct lua_engine *engine)
{
    if (engine->first_free != 0)
        return true;
    int old = engine->size, size = old > 0 ? old * 2 : FIRST_SIZE;
    struct slot *slots = zr_alloc((size_t)size * sizeof(*slots));
    if (slots == NULL)
        return false;
    for (int i = 0; i < old; i++)
        slots[i] = engine->slots[i];
    zr_free(engine->slots);
    engine->slots = slots;
    engine->size = size;
    add_free(engine, old > 0 ? old : 1);
    return true;
}

int zr_slots_put(struct lua_engine *engine, struct zr_task *task)
{
    int slot = engine->first_free;
    engine->first_free = engine->slots[slot].next_free;
    engine->slots[slot].task = task;
    engine->in_use++;
    task->slot = slot;
    return slot;
}

struct zr_task *zr_slots_get(const struct lua_engine *engine, int64_t slot)
{
    return slot > 0 && slot < engine->size ? engine->slots[slot].task : NULL;
}

void zr_slots_clear(struct lua_engine *engine, int slot)
{
    engine->slots[slot] = (struct slot){NULL, engine->first_free};
    engine->first_free = slot;
    engine->in_use--;
}

void zr_slots_fini(struct lua_engine *engine)
{
    bool ours = !zr_engine_forked(engine->core);
    for (int i = 1; i < engine->size; i++)
        if (engine->slots[i].task != NULL && ours)
            zr_task_drop(engine->slots[i].task, false);
    zr_free(engine->slots);
    engine->slots = NULL;
    engine->size = engine->first_free = engine->in_use = 0;
}
