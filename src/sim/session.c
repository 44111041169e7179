/*
 * 1. A handshake begins a session. 2. Whatever the leader hears moves its end into the future,
 * rounded up to the next tick. The other servers tell the leader every half tick whom they heard:
 * so the leader learns it late, and of what a server heard just before it was cut off never. 3. At
 * its end, or when the client wants it, the session's ephemerals go in one transaction, and every
 * server that has a connection of it hangs up.
 */
#include "sim/session.h"

#include "sim/leader.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

static int64_t tick_us(const struct zr_sim_world *world)
{
    return (int64_t)world->options.tick_ms * 1000;
}

struct zr_sim_session *zr_sim_session_find(struct zr_sim_world *world, int64_t id)
{
    struct zr_link *link;
    for (link = world->sessions.head.next; link != &world->sessions.head; link = link->next)
        if (ZR_HOLDER(link, struct zr_sim_session, link)->id == id)
            return ZR_HOLDER(link, struct zr_sim_session, link);
    return NULL;
}

static void touch(const struct zr_sim_world *world, struct zr_sim_session *session)
{
    int64_t end_us = world->now_us + (int64_t)session->timeout_ms * 1000;
    session->expire_us = (end_us / tick_us(world) + 1) * tick_us(world);
    session->touched = NULL;
}

void zr_sim_session_touch(struct zr_sim_world *world, struct zr_sim_session *session)
{
    touch(world, session);
}

void zr_sim_session_heard(struct zr_sim_server *server, int64_t id)
{
    struct zr_sim_session *session = zr_sim_session_find(server->world, id);
    if (session == NULL)
        return;
    if (server->number == 0)
        touch(server->world, session);
    else
        session->touched = server;
}

struct zr_sim_session *zr_sim_session_begin(struct zr_sim_world *world, int32_t timeout_ms)
{
    struct zr_sim_session *session = zr_sim_alloc(sizeof(*session));
    int32_t tick_ms = world->options.tick_ms;
    session->id = ++world->last_session;
    session->timeout_ms = timeout_ms < 2 * tick_ms    ? 2 * tick_ms
                          : timeout_ms > 20 * tick_ms ? 20 * tick_ms
                                                      : timeout_ms;
    zr_list_append(&world->sessions, &session->link);
    world->session_count++;
    touch(world, session);
    zr_sim_trace(world, "leader: session %016llx begins", (unsigned long long)session->id);
    return session;
}

void zr_sim_session_grant(const struct zr_sim_world *world, struct zr_sim_session *session)
{
    int32_t most_ms = world->most_timeout_ms;
    if (most_ms > 0 && session->timeout_ms > most_ms)
        session->timeout_ms = most_ms;
}

/* The real server's set has no order: any one of those that are left. */
static void shuffle(struct zr_sim_world *world, struct zr_sim_txn *txn)
{
    for (size_t i = txn->count; i > 1; i--) {
        size_t k = (size_t)zr_sim_random_below(&world->random, (int64_t)i);
        struct zr_sim_change swap = txn->changes[k];
        txn->changes[k] = txn->changes[i - 1];
        txn->changes[i - 1] = swap;
    }
}

void zr_sim_session_end(struct zr_sim_world *world, struct zr_sim_session *session,
                        struct zr_sim_packet *packet)
{
    struct zr_sim_txn *txn = zr_sim_txn_new(packet);
    const struct zr_list *specials = &world->servers[0].tree.specials;
    for (struct zr_link *link = specials->head.next; link != &specials->head; link = link->next) {
        const struct zr_sim_node *node = ZR_HOLDER(link, struct zr_sim_node, special);
        if (node->stat.ephemeral_owner == session->id)
            zr_sim_txn_add(txn, ZR_SIM_DELETE, node->path, node->entry.length);
    }
    shuffle(world, txn);
    txn->ended = session->id;
    zr_sim_trace(world, "leader: session %016llx ends, and %zu ephemerals",
                 (unsigned long long)session->id, txn->count);
    zr_unlink(&session->link);
    zr_sim_release(session);
    world->session_count--;
    zr_sim_leader_commit(world, txn, true);
}

/* ---- Ticks --------------------------------------------------------------------------------- */

static bool can_tell(const struct zr_sim_server *server)
{
    return server != NULL && !server->isolated && !server->stopped;
}

/* Each visit may end the session. */
static void each_session(struct zr_sim_world *world,
                         void (*visit)(struct zr_sim_world *world, struct zr_sim_session *session))
{
    struct zr_link *link, *next;
    for (link = world->sessions.head.next; link != &world->sessions.head; link = next) {
        next = link->next;
        visit(world, ZR_HOLDER(link, struct zr_sim_session, link));
    }
}

static void pass_on(struct zr_sim_world *world, struct zr_sim_session *session)
{
    if (can_tell(session->touched))
        touch(world, session);
}

static void end_silent(struct zr_sim_world *world, struct zr_sim_session *session)
{
    if (session->expire_us <= world->now_us)
        zr_sim_session_end(world, session, NULL);
}

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

/* The candidates first, like the real checker: deleting one may make its parent empty. */
static void reap(struct zr_sim_world *world)
{
    const struct zr_list *specials = &world->servers[0].tree.specials;
    struct zr_sim_txn *found = zr_sim_txn_new(NULL);
    for (struct zr_link *link = specials->head.next; link != &specials->head; link = link->next) {
        const struct zr_sim_node *node = ZR_HOLDER(link, struct zr_sim_node, special);
        if (is_due(world, node))
            zr_sim_txn_add(found, ZR_SIM_DELETE, node->path, node->entry.length);
    }
    for (size_t i = 0; i < found->count; i++)
        zr_sim_leader_reap(world, found->changes[i].path);
    zr_sim_txn_free(found);
}

static void ping(struct zr_sim_event *event)
{
    struct zr_sim_world *world = ZR_HOLDER(event, struct zr_sim_world, ping);
    zr_sim_schedule(&world->agenda, event, world->now_us + tick_us(world) / 2, ping);
    for (size_t i = 0; i < world->server_count; i++)
        zr_sim_server_tick(&world->servers[i]);
    if (!world->servers[0].stopped)
        each_session(world, pass_on);
}

static void tick(struct zr_sim_event *event)
{
    struct zr_sim_world *world = ZR_HOLDER(event, struct zr_sim_world, tick);
    int64_t next = world->now_us / tick_us(world) + 1;
    zr_sim_schedule(&world->agenda, event, next * tick_us(world), tick);
    if (world->servers[0].stopped)
        return;
    each_session(world, end_silent);
    if (world->now_us < world->reap_us)
        return;
    world->reap_us += (int64_t)world->options.reap_ms * 1000;
    reap(world);
}

/* Where in the tick the leader asks the others is a matter of chance, as it really is. */
void zr_sim_tick_start(struct zr_sim_world *world)
{
    int64_t phase_us = zr_sim_random_below(&world->random, tick_us(world) / 2);
    world->reap_us = world->now_us + (int64_t)world->options.reap_ms * 1000;
    zr_sim_schedule(&world->agenda, &world->ping, world->now_us + phase_us, ping);
    zr_sim_schedule(&world->agenda, &world->tick, world->now_us, tick);
}

void zr_sim_sessions_fini(struct zr_sim_world *world)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&world->sessions)) != NULL)
        zr_sim_release(ZR_HOLDER(link, struct zr_sim_session, link));
}
