/*
 * What the leader does by the clock. Its ping thread notes the time, waits for half a tick, pings
 * one server after the other, and begins again. A ping and the answers to requests travel to a
 * server in one stream, and a server's replies to pings and the requests that it forwards travel
 * back in one stream (server.c). At every tick another thread looks for sessions that were silent
 * for too long, dooms them and then ends them. At a tick the leader also reaps containers.
 *
 * What can go wrong: each thread gets its turn late, by up to late_us while the leader runs; and
 * the leader may be paused between any two steps.
 */
#include "sim/leader.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

static int64_t tick_us(const struct zr_sim_world *world)
{
    return (int64_t)world->options.tick_ms * 1000;
}

static int64_t late_us(struct zr_sim_world *world)
{
    return zr_sim_random_below(&world->random, world->options.late_us);
}

/* ---- Pings --------------------------------------------------------------------------------- */

static void ping(struct zr_sim_event *event);

/* A server without clients has nothing to report. */
static void ping_server(struct zr_sim_world *world, struct zr_sim_server *server)
{
    if (server->stopped || (zr_list_empty(&server->conns) && server->heard_count == 0))
        return;
    struct zr_sim_txn *txn = zr_sim_txn_new(NULL);
    txn->ping = server->number;
    server->pings++;
    zr_sim_leader_commit(world, txn, false);
}

/* All steps of one round together are late by at most late_us. */
static void next_step(struct zr_sim_world *world, int64_t wait_us)
{
    int64_t turn_us = late_us(world) / (int64_t)world->server_count;
    zr_sim_schedule(&world->agenda, &world->ping, world->now_us + wait_us + turn_us, ping);
}

static void ping(struct zr_sim_event *event)
{
    struct zr_sim_world *world = ZR_HOLDER(event, struct zr_sim_world, ping);
    if (zr_sim_server_put_off(&world->servers[0], event))
        return;
    bool round = world->ping_next < world->server_count && !world->servers[0].stopped;
    if (round)
        ping_server(world, &world->servers[world->ping_next]);
    world->ping_next = round ? world->ping_next + 1 : 1;
    next_step(world, round ? 0 : tick_us(world) / 2);
}

/* Each server checks by itself whether it hears the leader. */
static void look(struct zr_sim_event *event)
{
    struct zr_sim_world *world = ZR_HOLDER(event, struct zr_sim_world, look);
    zr_sim_schedule(&world->agenda, event, world->now_us + tick_us(world) / 2, look);
    for (size_t i = 0; i < world->server_count; i++)
        zr_sim_server_tick(&world->servers[i]);
}

/* ---- Ticks --------------------------------------------------------------------------------- */

static bool is_due(const struct zr_sim_world *world, const struct zr_sim_node *node)
{
    int64_t owner = node->stat.ephemeral_owner;
    if (node->stat.child_count > 0)
        return false;
    if (owner == ZR_SIM_CONTAINER_OWNER)
        return node->stat.cversion > 0;
    return zr_sim_is_ttl(owner) &&
           zr_sim_wall_ms(world) - node->stat.mtime_ms > (owner & ZR_SIM_TTL_MAX);
}

/* Collects the candidates first, like the real checker: deleting one may make its parent empty. */
static void reap(struct zr_sim_world *world)
{
    const struct zr_list *specials = &world->servers[0].tree.specials;
    struct zr_sim_txn *found = zr_sim_txn_new(NULL);
    ZR_LIST_EACH (link, specials) {
        const struct zr_sim_node *node = ZR_HOLDER(link, struct zr_sim_node, special);
        if (is_due(world, node))
            zr_sim_txn_add(found, ZR_SIM_DELETE, node->path, node->entry.length);
    }
    for (size_t i = 0; i < found->count; i++)
        zr_sim_leader_reap(world, found->changes[i].path);
    zr_sim_txn_free(found);
}

static void end_doomed(struct zr_sim_event *event)
{
    struct zr_sim_world *world = ZR_HOLDER(event, struct zr_sim_world, doom);
    if (!zr_sim_server_put_off(&world->servers[0], event) && !world->servers[0].stopped)
        zr_sim_sessions_end_doomed(world);
}

static void tick(struct zr_sim_event *event)
{
    struct zr_sim_world *world = ZR_HOLDER(event, struct zr_sim_world, tick);
    if (zr_sim_server_put_off(&world->servers[0], event))
        return;
    int64_t next = world->now_us / tick_us(world) + 1;
    zr_sim_schedule(&world->agenda, event, next * tick_us(world), tick);
    if (world->servers[0].stopped)
        return;
    if (zr_sim_sessions_doom(world) && !zr_sim_scheduled(&world->doom))
        zr_sim_schedule(&world->agenda, &world->doom, world->now_us + late_us(world), end_doomed);
    if (world->now_us < world->reap_us)
        return;
    world->reap_us += (int64_t)world->options.reap_ms * 1000;
    reap(world);
}

void zr_sim_tick_go_on(struct zr_sim_world *world)
{
    zr_sim_schedule(&world->agenda, &world->ping, world->now_us, ping);
    zr_sim_schedule(&world->agenda, &world->tick, world->now_us, tick);
    if (zr_sim_scheduled(&world->doom))
        zr_sim_schedule(&world->agenda, &world->doom, world->now_us, end_doomed);
}

/* The part of the tick in which the leader pings the other servers is random, as in a real
   ensemble. */
void zr_sim_tick_start(struct zr_sim_world *world)
{
    int64_t phase_us = zr_sim_random_below(&world->random, tick_us(world) / 2);
    world->reap_us = world->now_us + (int64_t)world->options.reap_ms * 1000;
    world->ping_next = 1;
    zr_sim_schedule(&world->agenda, &world->ping, world->now_us + phase_us, ping);
    zr_sim_schedule(&world->agenda, &world->look, world->now_us + phase_us, look);
    zr_sim_schedule(&world->agenda, &world->tick, world->now_us, tick);
}
