#include "state.h"

struct lease_history now;
bool tracing;
uint64_t step_total;

/* ---- The parties --------------------------------------------------------------------------- */

void open_party(struct party *party, int server, int32_t timeout_ms, int64_t tick_us)
{
    struct zr_session_options options = {.hosts = {"sim:1", 5},
                                         .timeout_us = timeout_ms * MS,
                                         .request_timeout_us = -1,
                                         .tick_us = tick_us};
    const struct zr_lock_options choice = {0};
    struct zr_args args = {.at[0] = {.given = true, .bytes = {"/l", 2}}, .options = &choice};
    party->zk = zr_sim_zk(now.world);
    zr_sim_prefer(party->zk, server);
    if (zr_engine_new(party->zk, zr_recipes, &party->engine) != ZR_OK ||
        zr_session_open(party->engine, &zr_session_class, &options, &party->session) != ZR_OK ||
        zr_recipes[0]->make(party->session, &args, &party->lock) != ZR_OK)
        abort();
}

void acquire(struct party *party)
{
    struct zr_args none = {.misuse = NULL};
    const struct zr_method *method = party->lock->class->methods;
    while (strcmp(method->name, "acquire") != 0)
        method++;
    if (method->start(party->lock, &none, &party->task) != ZR_OK)
        abort();
}

void dispatch(struct party *party)
{
    if (party->engine == NULL || party->lazy || zr_sim_paused(party->zk))
        return;
    while (zr_engine_dispatch(party->engine, 64) > 0)
        continue;
    if (zr_engine_next_reported(party->engine) == NULL || party->task == NULL)
        return;
    if (party->task->status == ZR_OK) {
        party->hold = zr_hold_of(party->task);
        zr_object_ref(&party->hold->object);
    }
    zr_task_drop(party->task, true);
    party->task = NULL;
}

bool is_valid(const struct party *party)
{
    return party->hold != NULL && party->hold->state == ZR_HELD &&
           zr_session_valid(party->session, party->hold->seat.generation);
}

void close_party(struct party *party)
{
    if (party->engine == NULL)
        return;
    party->lazy = false;
    if (party->hold != NULL)
        zr_object_unref(&party->hold->object);
    zr_object_unref(party->lock);
    zr_session_class.forget(&party->session->object);
    zr_session_close(party->session, 0);
    zr_object_unref(&party->session->object);
}

void free_party(struct party *party)
{
    if (party->engine == NULL)
        return;
    while (!zr_engine_ended(party->engine)) {
        zr_sim_step(now.world);
        dispatch(party);
    }
    zr_engine_unref(party->engine);
}
