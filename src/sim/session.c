/*
 * 1. A handshake begins a session.
 * 2. Each sign of life that the leader gets moves the session's end into the future, rounded up to
 *    the next tick. Another server notes the sessions that it hears from, and names them in its
 *    reply to the leader's next ping. So the leader learns of them late, and never if that server
 *    is cut off first.
 * 3. At the session's end, or when the client asks for it, its ephemerals are deleted in one
 *    transaction, and every server that has a connection of it hangs up.
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
    ZR_LIST_EACH (link, &world->sessions)
        if (ZR_HOLDER(link, struct zr_sim_session, link)->id == id)
            return ZR_HOLDER(link, struct zr_sim_session, link);
    return NULL;
}

static void touch(const struct zr_sim_world *world, struct zr_sim_session *session,
                  int32_t timeout_ms)
{
    int64_t end_us = world->now_us + (int64_t)timeout_ms * 1000;
    session->expire_us = (end_us / tick_us(world) + 1) * tick_us(world);
}

void zr_sim_session_touch(struct zr_sim_world *world, struct zr_sim_session *session)
{
    touch(world, session, session->timeout_ms);
}

void zr_sim_session_heard(struct zr_sim_server *server, int64_t id, int32_t timeout_ms)
{
    struct zr_sim_session *session = zr_sim_session_find(server->world, id);
    if (session == NULL)
        return;
    if (server->number == 0) {
        touch(server->world, session, timeout_ms);
        return;
    }
    server->heard_count += session->heard_ms[server->number] == 0;
    session->heard_ms[server->number] = timeout_ms;
}

void zr_sim_session_grant(const struct zr_sim_world *world, struct zr_sim_session *session,
                          int32_t asked_ms)
{
    int32_t least_ms = world->options.least_ms, most_ms = 20 * world->options.tick_ms;
    if (world->most_timeout_ms > 0 && world->most_timeout_ms < most_ms)
        most_ms = world->most_timeout_ms;
    session->timeout_ms = asked_ms > most_ms ? most_ms : asked_ms < least_ms ? least_ms : asked_ms;
}

struct zr_sim_session *zr_sim_session_begin(struct zr_sim_world *world, int32_t timeout_ms)
{
    size_t size = sizeof(struct zr_sim_session) + world->server_count * sizeof(int32_t);
    struct zr_sim_session *session = zr_sim_alloc(size);
    session->id = ++world->last_session;
    zr_sim_session_grant(world, session, timeout_ms);
    zr_list_append(&world->sessions, &session->link);
    world->session_count++;
    zr_sim_session_touch(world, session);
    zr_sim_trace(world, "leader: session %016llx begins", (unsigned long long)session->id);
    return session;
}

/* The real server's set has no order: any of the remaining znodes may come next. */
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
    ZR_LIST_EACH (link, specials) {
        const struct zr_sim_node *node = ZR_HOLDER(link, struct zr_sim_node, special);
        if (node->stat.ephemeral_owner == session->id)
            zr_sim_txn_add(txn, ZR_SIM_DELETE, node->path, node->entry.length);
    }
    shuffle(world, txn);
    txn->ended = session->id;
    zr_sim_trace(world, "leader: session %016llx ends, and %zu ephemerals",
                 (unsigned long long)session->id, txn->count);
    for (size_t i = 0; i < world->server_count; i++)
        world->servers[i].heard_count -= session->heard_ms[i] != 0;
    zr_unlink(&session->link);
    zr_sim_release(session);
    world->session_count--;
    zr_sim_leader_commit(world, txn, true);
}

/* ---- What the servers hear ----------------------------------------------------------------- */

/* Each visit may end the session. */
static void each_session(struct zr_sim_world *world,
                         void (*visit)(struct zr_sim_world *world, struct zr_sim_session *session))
{
    ZR_LIST_EACH (link, &world->sessions) {
        visit(world, ZR_HOLDER(link, struct zr_sim_session, link));
    }
}

static void add_heard(struct zr_sim_packet *packet, int64_t id, int32_t timeout_ms)
{
    if (packet->heard_count == packet->heard_room)
        packet->heard = zr_sim_grow(packet->heard, packet->heard_count, &packet->heard_room,
                                    sizeof(*packet->heard));
    packet->heard[packet->heard_count++] = (struct zr_sim_heard){id, timeout_ms};
}

struct zr_sim_packet *zr_sim_sessions_pong(struct zr_sim_server *server)
{
    const struct zr_list *all = &server->world->sessions;
    struct zr_sim_packet *packet = zr_sim_packet_new(NULL, ZR_SIM_PONG);
    ZR_LIST_EACH (link, all) {
        if (server->heard_count == 0)
            break;
        struct zr_sim_session *session = ZR_HOLDER(link, struct zr_sim_session, link);
        if (session->heard_ms[server->number] == 0)
            continue;
        add_heard(packet, session->id, session->heard_ms[server->number]);
        session->heard_ms[server->number] = 0;
        server->heard_count--;
    }
    return packet;
}

void zr_sim_sessions_told(struct zr_sim_world *world, const struct zr_sim_packet *packet)
{
    for (size_t i = 0; i < packet->heard_count; i++) {
        struct zr_sim_session *session = zr_sim_session_find(world, packet->heard[i].session_id);
        if (session != NULL)
            touch(world, session, packet->heard[i].timeout_ms);
    }
}

void zr_sim_sessions_forget(struct zr_sim_server *server)
{
    zr_sim_packet_unref(zr_sim_sessions_pong(server));
}

/* ---- The silent ---------------------------------------------------------------------------- */

bool zr_sim_sessions_doom(struct zr_sim_world *world)
{
    bool any = false;
    const struct zr_list *all = &world->sessions;
    ZR_LIST_EACH (link, all) {
        struct zr_sim_session *session = ZR_HOLDER(link, struct zr_sim_session, link);
        session->doomed |= session->expire_us <= world->now_us;
        any |= session->doomed;
    }
    return any;
}

static void end_doomed(struct zr_sim_world *world, struct zr_sim_session *session)
{
    if (session->doomed)
        zr_sim_session_end(world, session, NULL);
}

void zr_sim_sessions_end_doomed(struct zr_sim_world *world)
{
    each_session(world, end_doomed);
}

void zr_sim_sessions_fini(struct zr_sim_world *world)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&world->sessions)) != NULL)
        zr_sim_release(ZR_HOLDER(link, struct zr_sim_session, link));
}
