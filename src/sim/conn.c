/*
 * 1. A packet arrives at the server. If only the leader can answer it, the server forwards it at
 *    once. Every packet joins the connection's queue.
 * 2. If the head of the queue needs the leader, the server answers it when it has applied the
 *    leader's decision on it.
 * 3. If the head is a read, the server answers it from its own tree. So a client never sees a state
 *    older than its own writes. It gets the event of a change before it can read the change,
 *    because the server sends both on the same wire.
 *
 * What can go wrong: either end gives the connection up, a fault holds or breaks a wire, or the
 * client's process is stopped.
 */
#include "sim/leader.h"
#include "sim/process.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

#define LARGEST_PACKET 0xfffff

/* ---- The server's side --------------------------------------------------------------------- */

void zr_sim_conn_hang_up(struct zr_sim_conn *conn)
{
    struct zr_link *link;
    if (!conn->open)
        return;
    zr_sim_trace(conn->world, "server %d hangs up on session %016llx", conn->server->number,
                 (unsigned long long)conn->session_id);
    conn->open = false;
    zr_unlink(&conn->link);
    zr_sim_watch_drop(&conn->server->watches, conn);
    while ((link = zr_list_shift(&conn->pending)) != NULL)
        zr_sim_packet_unref(ZR_HOLDER(link, struct zr_sim_packet, in_pending));
    zr_sim_wire_clear(&conn->up);
    if (conn->handle != NULL)
        zr_sim_wire_send(&conn->down, zr_sim_packet_new(conn, ZR_SIM_END), 0);
    zr_sim_conn_unref(conn);
}

void zr_sim_conn_tell(struct zr_sim_conn *conn, enum zr_event_kind event, const char *path)
{
    struct zr_sim_packet *packet = zr_sim_packet_new(conn, ZR_SIM_EVENT);
    packet->event = event;
    packet->copy.path = zr_sim_copy_string(path);
    if (conn->handle != NULL)
        zr_sim_wire_send(&conn->down, packet, 0);
    else
        zr_sim_packet_unref(packet);
}

/* Answers to handshakes and credentials carry no zxid. */
static bool has_zxid(const struct zr_sim_packet *packet)
{
    return packet->kind != ZR_SIM_CONNECT && packet->copy.op != ZR_OP_ADD_AUTH;
}

static void reply(struct zr_sim_conn *conn, struct zr_sim_packet *packet)
{
    packet->zxid = has_zxid(packet) ? conn->server->zxid : 0;
    if (packet->fate == ZR_SIM_FINE && conn->handle != NULL) {
        zr_sim_wire_send(&conn->down, packet, 0);
        return;
    }
    bool mute = packet->fate == ZR_SIM_MUTE;
    zr_sim_packet_unref(packet);
    if (mute)
        zr_sim_conn_hang_up(conn);
}

static void answer(struct zr_sim_conn *conn, struct zr_sim_packet *packet)
{
    bool over = packet->refused || (packet->kind == ZR_SIM_CONNECT && packet->session_id == 0);
    if (packet->kind == ZR_SIM_CONNECT)
        conn->session_id = packet->session_id;
    if (packet->kind == ZR_SIM_ASK && !packet->through_leader)
        zr_sim_answer(conn->server, packet);
    if (packet->kind == ZR_SIM_WATCHES)
        zr_sim_answer_watches(conn->server, packet);
    if (packet->refused)
        zr_sim_packet_unref(packet);
    else
        reply(conn, packet);
    if (over)
        zr_sim_conn_hang_up(conn);
}

void zr_sim_conn_pump(struct zr_sim_conn *conn)
{
    if (conn->server->number != 0 && conn->server->paused_until_us > conn->world->now_us)
        return;
    zr_sim_conn_ref(conn);
    while (!zr_list_empty(&conn->pending)) {
        struct zr_sim_packet *packet =
            ZR_HOLDER(zr_list_first(&conn->pending), struct zr_sim_packet, in_pending);
        if (packet->through_leader && !packet->decided)
            break;
        zr_unlink(&packet->in_pending);
        answer(conn, packet);
    }
    zr_sim_conn_unref(conn);
}

static void queue(struct zr_sim_conn *conn, struct zr_sim_packet *packet)
{
    struct zr_sim_server *server = conn->server;
    zr_list_append(&conn->pending, &packet->in_pending);
    if (!packet->through_leader)
        zr_sim_conn_pump(conn);
    else if (server->number == 0)
        zr_sim_leader_take(server->world, zr_sim_packet_ref(packet));
    else
        zr_sim_wire_send(&server->to_leader, zr_sim_packet_ref(packet), 0);
}

/* A client that has seen more than this server must try another server. */
static void greet(struct zr_sim_conn *conn, struct zr_sim_packet *packet)
{
    struct zr_sim_server *server = conn->server;
    zr_sim_server_catch_up(server);
    if (packet->last_zxid > server->zxid) {
        zr_sim_packet_unref(packet);
        zr_sim_conn_hang_up(conn);
        return;
    }
    if (packet->session_id != 0)
        zr_sim_server_drop(server, packet->session_id);
    queue(conn, packet);
}

/* Answers at once, before the packets in the queue. */
static void authenticate(struct zr_sim_conn *conn, struct zr_sim_packet *packet)
{
    bool known = zr_sim_identity_add(&conn->who, packet->copy.path, packet->copy.data);
    packet->copy.status = known ? ZR_OK : ZR_AUTH_FAILED;
    reply(conn, packet);
    if (!known)
        zr_sim_conn_hang_up(conn);
}

void zr_sim_conn_receive(struct zr_sim_conn *conn, struct zr_sim_packet *packet)
{
    bool broken = packet->kind == ZR_SIM_END || packet->fate == ZR_SIM_LOST;
    if (!conn->open || broken || packet->size > LARGEST_PACKET) {
        zr_sim_packet_unref(packet);
        zr_sim_conn_hang_up(conn);
        return;
    }
    if (conn->session_id != 0)
        zr_sim_session_heard(conn->server, conn->session_id, conn->timeout_ms);
    if (packet->kind == ZR_SIM_CONNECT)
        greet(conn, packet);
    else if (packet->kind == ZR_SIM_ASK && packet->copy.op == ZR_OP_ADD_AUTH)
        authenticate(conn, packet);
    else
        queue(conn, packet);
}

/* ---- The wires and the life ---------------------------------------------------------------- */

static void to_server(struct zr_sim_wire *wire, struct zr_sim_packet *packet)
{
    zr_sim_conn_receive(wire->owner, packet);
}

static void to_client(struct zr_sim_wire *wire, struct zr_sim_packet *packet)
{
    struct zr_sim_conn *conn = wire->owner;
    zr_sim_handle_receive(conn->handle, packet);
    zr_sim_packet_unref(packet);
}

static int64_t up_held(const struct zr_sim_wire *wire)
{
    const struct zr_sim_conn *conn = wire->owner;
    return conn->process->held & ZR_SIM_TO_SERVER ? INT64_MAX
                                                  : conn->server->paused_until_us + wire->late_us;
}

static int64_t down_held(const struct zr_sim_wire *wire)
{
    const struct zr_sim_conn *conn = wire->owner;
    return conn->process->held & ZR_SIM_TO_CLIENT ? INT64_MAX : conn->process->paused_until_us;
}

struct zr_sim_conn *zr_sim_conn_new(struct zr_sim_server *server, struct zr_handle *handle)
{
    struct zr_sim_world *world = server->world;
    struct zr_sim_conn *conn = zr_sim_alloc(sizeof(*conn));
    conn->refs = 2; /* the client and the server */
    conn->world = world;
    conn->server = server;
    conn->handle = handle;
    conn->process = zr_sim_process_ref(handle->process);
    conn->open = true;
    conn->number = ++world->last_conn;
    zr_sim_identity_add(&conn->who, "ip", (struct zr_bytes){NULL, 0});
    zr_list_init(&conn->pending);
    zr_list_init(&conn->watches);
    zr_list_append(&server->conns, &conn->link);
    zr_sim_wire_init(&conn->up, world, conn);
    zr_sim_wire_init(&conn->down, world, conn);
    conn->up.deliver = to_server;
    conn->up.held_until = up_held;
    conn->down.deliver = to_client;
    conn->down.held_until = down_held;
    return conn;
}

struct zr_sim_conn *zr_sim_conn_ref(struct zr_sim_conn *conn)
{
    conn->refs++;
    return conn;
}

void zr_sim_conn_unref(struct zr_sim_conn *conn)
{
    if (--conn->refs > 0)
        return;
    zr_sim_identities_free(conn->who);
    zr_sim_process_unref(conn->process);
    zr_sim_release(conn);
}

/* The client's kernel still sends its packets, unless they are to be lost or the server has given
   the connection up. */
void zr_sim_conn_let_go(struct zr_sim_conn *conn, bool arrives)
{
    conn->handle = NULL;
    zr_sim_wire_clear(&conn->down);
    if (!arrives || !conn->open)
        zr_sim_wire_clear(&conn->up);
    if (conn->open)
        zr_sim_wire_send(&conn->up, zr_sim_packet_new(conn, ZR_SIM_END), 0);
    zr_sim_conn_unref(conn);
}
