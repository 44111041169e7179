/*
 * 1. A packet comes from one of the servers, in the order in which that server got it.
 * 2. The leader checks it against its tree and makes a transaction from it. An error becomes a
 *    transaction, too, and takes a zxid like any other write.
 * 3. The leader applies the transaction at once; the other servers apply it when they get it.
 *
 * What can go wrong: a session has only one connection that may write, the newest. A write that
 * comes late over an older one, or after the session's end, is refused, and that connection ends.
 */
#include "sim/leader.h"

#include <string.h>

#include "sim/world.h"
#include "sim/world_alloc.h"

void zr_sim_leader_commit(struct zr_sim_world *world, struct zr_sim_txn *txn, bool counts)
{
    world->zxid += counts;
    txn->zxid = world->zxid;
    txn->time_ms = zr_sim_wall_ms(world);
    txn->at_us = world->now_us;
    txn->waiting = world->server_count;
    zr_list_append(&world->log, &txn->link);
    for (size_t i = world->server_count; i-- > 0;)
        zr_sim_server_expect(&world->servers[i], txn);
    if (counts && world->saw != NULL)
        world->saw(world->with, world->zxid);
}

static bool takes_zxid(const struct zr_sim_packet *packet)
{
    return packet->copy.op != ZR_OP_SYNC;
}

#define SHOWN 60 /* bytes of data in the trace */

/* " = data", or nothing for null. */
static void show(struct zr_bytes data, char *text)
{
    size_t length = data.length < SHOWN ? data.length : SHOWN;
    strcpy(text, data.at != NULL ? " = " : "");
    for (size_t i = 0; data.at != NULL && i < length; i++) {
        bool plain = data.at[i] >= ' ' && data.at[i] <= '~';
        text[3 + i] = plain ? data.at[i] : '?';
        text[4 + i] = '\0';
    }
}

static void trace(const struct zr_sim_world *world, const struct zr_sim_packet *packet,
                  const struct zr_sim_txn *txn)
{
    for (size_t i = 0; i < txn->count && world->options.trace != NULL; i++) {
        static const char *const acts[] = {"create", "delete", "set", "set_acl"};
        char data[SHOWN + 4];
        show(txn->changes[i].data, data);
        zr_sim_trace(world, "leader: %llx %s %s by %016llx%s", (unsigned long long)world->zxid + 1,
                     acts[txn->changes[i].act], txn->changes[i].path,
                     (unsigned long long)packet->conn->session_id, data);
    }
}

static void take_request(struct zr_sim_world *world, struct zr_sim_packet *packet)
{
    struct zr_sim_session *session = zr_sim_session_find(world, packet->conn->session_id);
    struct zr_sim_txn *txn = zr_sim_txn_new(packet);
    packet->refused = session == NULL || session->conn != packet->conn->number;
    if (!packet->refused && takes_zxid(packet))
        zr_sim_prepare(world, packet, txn);
    trace(world, packet, txn);
    zr_sim_leader_commit(world, txn, !packet->refused && takes_zxid(packet));
}

/* An answer without a session tells the client that its session is over. */
static void take_connect(struct zr_sim_world *world, struct zr_sim_packet *packet)
{
    struct zr_sim_session *session = zr_sim_session_find(world, packet->session_id);
    bool fresh = packet->session_id == 0 || (session != NULL && session->renamed);
    if (session != NULL)
        session->renamed = false;
    if (fresh)
        session = zr_sim_session_begin(world, packet->timeout_ms);
    packet->session_id = session != NULL ? session->id : 0;
    if (session != NULL) {
        zr_sim_session_grant(world, session, packet->timeout_ms);
        packet->timeout_ms = session->timeout_ms;
        session->conn = packet->conn->number;
        packet->conn->timeout_ms = session->timeout_ms;
        zr_sim_session_touch(world, session);
    }
    if (fresh) {
        zr_sim_leader_commit(world, zr_sim_txn_new(packet), true);
    } else {
        packet->decided = true; /* no transaction: its server may answer while it lags behind */
        zr_sim_conn_pump(packet->conn);
    }
}

static void take_close(struct zr_sim_world *world, struct zr_sim_packet *packet)
{
    struct zr_sim_session *session = zr_sim_session_find(world, packet->conn->session_id);
    packet->refused = session == NULL || session->conn != packet->conn->number;
    if (packet->refused)
        zr_sim_leader_commit(world, zr_sim_txn_new(packet), false);
    else
        zr_sim_session_end(world, session, packet);
}

void zr_sim_leader_take(struct zr_sim_world *world, struct zr_sim_packet *packet)
{
    if (packet->kind == ZR_SIM_PONG)
        zr_sim_sessions_told(world, packet);
    else if (packet->kind == ZR_SIM_CONNECT)
        take_connect(world, packet);
    else if (packet->kind == ZR_SIM_CLOSE)
        take_close(world, packet);
    else
        take_request(world, packet);
    zr_sim_packet_unref(packet);
}

void zr_sim_leader_reap(struct zr_sim_world *world, const char *path)
{
    size_t length = strlen(path);
    struct zr_sim_node *node = zr_sim_tree_find(&world->servers[0].tree, path, length);
    struct zr_sim_txn *txn = zr_sim_txn_new(NULL);
    if (node != NULL && node->stat.child_count == 0 && node->stat.ephemeral_owner != 0) {
        zr_sim_txn_add(txn, ZR_SIM_DELETE, path, length);
        zr_sim_trace(world, "leader: reaps %s", path);
    }
    zr_sim_leader_commit(world, txn, true);
}
