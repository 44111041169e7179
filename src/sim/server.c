/*
 * The leader's decisions come as transactions, in their order: at once to the leader itself, later
 * to the other servers. When a server applies a transaction, watches fire, and the connection that
 * asked for the transaction gets its answer.
 *
 * The leader's pings are in the same stream. So the reply to a ping is sent before the answer to a
 * request that the leader handled later.
 *
 * What can go wrong is what the faults ask for: the server lags, is cut off from the leader, is
 * paused, or is down. A server that is cut off answers reads for a while before it drops its
 * clients, as real servers do.
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

/* True if a message that was sent at this time, in either direction, arrives or has arrived. */
static bool hears_leader(const struct zr_sim_server *server, int64_t sent_us)
{
    bool cut = server->isolated && !(server->delivers && sent_us <= server->isolated_us);
    return !cut && !server->stopped && !server->world->servers[0].stopped;
}

static bool is_paused(const struct zr_sim_server *server)
{
    return server->paused_until_us > server->world->now_us;
}

/* ---- Transactions -------------------------------------------------------------------------- */

static void apply_due(struct zr_sim_event *event);

static int64_t due_us(const struct zr_sim_server *server, const struct zr_sim_txn *txn)
{
    int64_t at_us = txn->at_us + (is_leader(server) ? 0 : server->hop_us + server->lag_us);
    return at_us > server->down_held_us ? at_us : server->down_held_us;
}

static struct zr_sim_txn *behind(struct zr_sim_world *world, struct zr_sim_txn *txn)
{
    struct zr_link *next = txn->link.next;
    return next == &world->log.head ? NULL : ZR_HOLDER(next, struct zr_sim_txn, link);
}

void zr_sim_server_drop(struct zr_sim_server *server, int64_t id)
{
    ZR_LIST_EACH (link, &server->conns) {
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
    if (txn->ping != 0 && txn->ping == server->number) {
        server->pongs++;
        zr_sim_wire_send(&server->to_leader, zr_sim_sessions_pong(server), 0);
    }
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

static bool may_apply(const struct zr_sim_server *server)
{
    return server->next != NULL && hears_leader(server, server->next->at_us);
}

void zr_sim_server_catch_up(struct zr_sim_server *server)
{
    struct zr_sim_world *world = server->world;
    bool paused = !is_leader(server) && is_paused(server);
    while (!paused && may_apply(server) && due_us(server, server->next) <= world->now_us)
        apply_next(server);
    bool busy = !zr_list_empty(&server->conns) || server->heard_count > 0;
    if (!may_apply(server) || !(busy || paused))
        return;
    int64_t at_us = due_us(server, server->next);
    if (paused && at_us < server->paused_until_us + server->late_us)
        at_us = server->paused_until_us + server->late_us;
    zr_sim_schedule(&world->agenda, &server->apply, at_us, apply_due);
}

static void apply_due(struct zr_sim_event *event)
{
    zr_sim_server_catch_up(ZR_HOLDER(event, struct zr_sim_server, apply));
}

/* A server without clients applies nothing until a connection or a driver needs it, or until the
   next tick. */
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
    const struct zr_sim_server *server = wire->owner, *leader = &server->world->servers[0];
    int64_t goes_on_us = leader->paused_until_us + wire->late_us;
    if (!hears_leader(server, zr_sim_wire_first(wire)->sent_us))
        return INT64_MAX;
    return goes_on_us > server->up_held_us ? goes_on_us : server->up_held_us;
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
    zr_sim_cancel(&server->world->agenda, &server->resume);
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

/* If the leader was paused, what it does by the clock was put off until now. */
static void end_pause(struct zr_sim_server *server)
{
    bool leader_slept = is_leader(server) && is_paused(server);
    server->paused_until_us = 0;
    if (leader_slept)
        zr_sim_tick_go_on(server->world);
}

void zr_sim_server_stop(struct zr_sim_server *server, bool on)
{
    if (!on && !server->stopped)
        return; /* a pause continues */
    server->stopped = on;
    server->up_held_us = server->down_held_us = 0;
    end_pause(server);
    if (on) {
        hang_up_all(server);
        zr_sim_wire_clear(&server->to_leader);
        zr_sim_sessions_forget(server);
    }
    zr_sim_server_catch_up(server);
    zr_sim_wire_resume(&server->to_leader);
}

void zr_sim_server_isolate(struct zr_sim_server *server, bool on, bool delivers)
{
    if (is_leader(server) || server->isolated == on)
        return;
    server->isolated = on;
    server->isolated_us = server->world->now_us;
    server->delivers = delivers;
    zr_sim_server_catch_up(server);
    zr_sim_wire_resume(&server->to_leader);
}

/* ---- Pauses -------------------------------------------------------------------------------- */

static int64_t late_us(struct zr_sim_world *world)
{
    return zr_sim_random_below(&world->random, world->options.late_us);
}

bool zr_sim_server_put_off(struct zr_sim_server *server, struct zr_sim_event *event)
{
    struct zr_sim_world *world = server->world;
    if (!is_paused(server))
        return false;
    zr_sim_schedule(&world->agenda, event, server->paused_until_us + late_us(world), event->happen);
    return true;
}

static void each_conn(struct zr_sim_server *server, void (*visit)(struct zr_sim_conn *conn))
{
    ZR_LIST_EACH (link, &server->conns) {
        visit(ZR_HOLDER(link, struct zr_sim_conn, link));
    }
}

static void put_off_conn(struct zr_sim_conn *conn)
{
    conn->up.late_us = late_us(conn->world);
    zr_sim_wire_resume(&conn->up);
}

/* Sends the answers that became ready during the pause. */
static void go_on(struct zr_sim_event *event)
{
    struct zr_sim_server *server = ZR_HOLDER(event, struct zr_sim_server, resume);
    each_conn(server, zr_sim_conn_pump);
}

/* After the pause each of its threads runs again with a delay of its own: those that read from
   clients, those that read from servers, and the one that reads from the leader. */
void zr_sim_server_pause(struct zr_sim_server *server, int64_t us)
{
    struct zr_sim_world *world = server->world;
    if (server->stopped || world->now_us + us <= server->paused_until_us)
        return;
    server->paused_until_us = world->now_us + us;
    server->late_us = late_us(world);
    each_conn(server, put_off_conn);
    for (size_t i = 1; i < world->server_count && is_leader(server); i++) {
        world->servers[i].to_leader.late_us = late_us(world);
        zr_sim_wire_resume(&world->servers[i].to_leader);
    }
    zr_sim_schedule(&world->agenda, &server->resume, server->paused_until_us, go_on);
    zr_sim_server_catch_up(server);
}
