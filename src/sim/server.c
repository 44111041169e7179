/*
 * The leader's decisions come as transactions, in their order, at once to the leader itself and
 * later to the others. Applying one makes watches fire, and brings the connection that asked for it
 * its answer.
 *
 * What can go wrong here is what the faults want: the server lags, is cut off from the leader, is
 * down. Cut off, it answers reads for a while, as real ones do, before it drops its clients.
 */
#include "sim/server.h"

#include "sim/leader.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

#define GRACE_TICKS 5

static bool is_leader(const struct zr_sim_server *server)
{
    return server->number == 0;
}

static bool hears_leader(const struct zr_sim_server *server)
{
    return !server->isolated && !server->stopped && !server->world->servers[0].stopped;
}

/* ---- Transactions -------------------------------------------------------------------------- */

static void apply_due(struct zr_sim_event *event);

static int64_t due_us(const struct zr_sim_server *server, const struct zr_sim_txn *txn)
{
    return txn->at_us + (is_leader(server) ? 0 : server->hop_us + server->lag_us);
}

static struct zr_sim_txn *behind(struct zr_sim_world *world, struct zr_sim_txn *txn)
{
    struct zr_link *next = txn->link.next;
    return next == &world->log.head ? NULL : ZR_HOLDER(next, struct zr_sim_txn, link);
}

void zr_sim_server_drop(struct zr_sim_server *server, int64_t id)
{
    struct zr_link *link, *next;
    for (link = server->conns.head.next; link != &server->conns.head; link = next) {
        next = link->next;
        struct zr_sim_conn *conn = ZR_HOLDER(link, struct zr_sim_conn, link);
        if (conn->session_id == id)
            zr_sim_conn_hang_up(conn);
    }
}

static void apply_next(struct zr_sim_server *server)
{
    struct zr_sim_txn *txn = server->next;
    struct zr_sim_packet *packet = txn->packet;
    server->next = behind(server->world, txn);
    zr_sim_txn_apply(txn, &server->tree, &server->watches);
    server->zxid = txn->zxid;
    if (is_leader(server) && packet != NULL)
        zr_sim_prepared(packet, txn);
    if (packet != NULL && packet->conn->server == server) {
        packet->decided = true;
        zr_sim_conn_pump(packet->conn);
    }
    if (txn->ended != 0)
        zr_sim_server_drop(server, txn->ended);
    if (--txn->waiting > 0)
        return;
    zr_unlink(&txn->link);
    zr_sim_txn_free(txn);
}

void zr_sim_server_catch_up(struct zr_sim_server *server)
{
    struct zr_sim_world *world = server->world;
    if (!hears_leader(server))
        return;
    while (server->next != NULL && due_us(server, server->next) <= world->now_us)
        apply_next(server);
    if (server->next != NULL && !zr_list_empty(&server->conns))
        zr_sim_schedule(&world->agenda, &server->apply, due_us(server, server->next), apply_due);
}

static void apply_due(struct zr_sim_event *event)
{
    zr_sim_server_catch_up(ZR_HOLDER(event, struct zr_sim_server, apply));
}

/* A server without clients is left alone until somebody looks, or the next tick. */
void zr_sim_server_expect(struct zr_sim_server *server, struct zr_sim_txn *txn)
{
    if (server->next == NULL)
        server->next = txn;
    if (is_leader(server) || !zr_sim_scheduled(&server->apply))
        zr_sim_server_catch_up(server);
}

/* ---- Beginning and end --------------------------------------------------------------------- */

static void to_leader(struct zr_sim_wire *wire, struct zr_sim_packet *packet)
{
    zr_sim_leader_take(wire->world, packet);
}

static int64_t leader_is_deaf(const struct zr_sim_wire *wire)
{
    return hears_leader(wire->owner) ? 0 : INT64_MAX;
}

void zr_sim_server_init(struct zr_sim_server *server, struct zr_sim_world *world, int number)
{
    server->world = world;
    server->number = number;
    server->zxid = world->zxid;
    server->hop_us = zr_sim_latency_us(world);
    zr_list_init(&server->conns);
    zr_sim_tree_init(&server->tree);
    zr_sim_wire_init(&server->to_leader, world, server);
    server->to_leader.deliver = to_leader;
    server->to_leader.held_until = leader_is_deaf;
}

static void hang_up_all(struct zr_sim_server *server)
{
    struct zr_link *link;
    while ((link = zr_list_first(&server->conns)) != NULL)
        zr_sim_conn_hang_up(ZR_HOLDER(link, struct zr_sim_conn, link));
}

void zr_sim_server_fini(struct zr_sim_server *server)
{
    hang_up_all(server);
    zr_sim_wire_clear(&server->to_leader);
    zr_sim_cancel(&server->world->agenda, &server->apply);
    zr_sim_watches_fini(&server->watches);
    zr_sim_tree_fini(&server->tree);
}

bool zr_sim_server_serves(const struct zr_sim_server *server)
{
    const struct zr_sim_world *world = server->world;
    int64_t grace_us = (int64_t)world->options.tick_ms * 1000 * GRACE_TICKS;
    return !server->stopped && !world->servers[0].stopped &&
           (!server->isolated || world->now_us - server->isolated_us < grace_us);
}

void zr_sim_server_tick(struct zr_sim_server *server)
{
    if (!zr_sim_server_serves(server))
        hang_up_all(server);
    zr_sim_server_catch_up(server);
}

void zr_sim_server_stop(struct zr_sim_server *server, bool on)
{
    server->stopped = on;
    if (on)
        hang_up_all(server);
    if (on)
        zr_sim_wire_clear(&server->to_leader);
    zr_sim_server_catch_up(server);
    zr_sim_wire_resume(&server->to_leader);
}

void zr_sim_server_isolate(struct zr_sim_server *server, bool on)
{
    if (is_leader(server) || server->isolated == on)
        return;
    server->isolated = on;
    server->isolated_us = server->world->now_us;
    zr_sim_server_catch_up(server);
    zr_sim_wire_resume(&server->to_leader);
}
