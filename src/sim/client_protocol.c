/*
 * What happens on a connection:
 * 1. The server answers the handshake, which begins the session or continues it. The client sends
 *    its credentials, its watches and a first request.
 * 2. The server answers the first request: CONNECTED.
 * 3. Answers and events come.
 * 4. Heartbeats through the leader renew the lease.
 *
 * What can go wrong: the server says that the session is over, or begins another one: EXPIRED. It
 * refuses the credentials: AUTH_FAILED.
 */
#include "sim/process.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

static void beat(struct zr_sim_event *event);

static void schedule_beat(struct zr_handle *handle)
{
    zr_sim_schedule(&handle->process->world->agenda, &handle->beat, zr_lease_next(&handle->lease),
                    beat);
}

/* A heartbeat is a sync, which the leader orders; or a write: the deletion of a znode that never
   exists. */
static void send_beat(struct zr_handle *handle, bool write)
{
    bool goes = zr_lease_sent(&handle->lease, handle->process->world->now_us);
    if (goes) {
        struct zr_sim_packet *packet = zr_sim_packet_new(handle->conn, ZR_SIM_BEAT);
        packet->copy.op = write ? ZR_OP_DELETE : ZR_OP_SYNC;
        packet->copy.path = zr_sim_copy_string(write ? "/zkrecipes-heartbeat/none" : "/");
        zr_sim_handle_send(handle, packet, 0);
    }
    schedule_beat(handle);
}

static void beat(struct zr_sim_event *event)
{
    struct zr_handle *handle = ZR_HOLDER(event, struct zr_handle, beat);
    if (zr_sim_put_off(handle, event))
        return;
    if (handle->phase == ZR_SIM_PROVED && !handle->parting)
        send_beat(handle, handle->write_heartbeat);
}

void zr_sim_handle_part(struct zr_handle *handle)
{
    handle->parting = true;
    zr_sim_handle_send(handle, zr_sim_packet_new(handle->conn, ZR_SIM_CLOSE), 0);
}

static void send_credentials(struct zr_handle *handle)
{
    for (struct zr_sim_credential *one = handle->credentials; one != NULL; one = one->next) {
        struct zr_request request = {.op = ZR_OP_ADD_AUTH, .path = one->scheme, .data = one->bytes};
        struct zr_sim_packet *packet = zr_sim_packet_ask(handle->conn, &request);
        packet->request = NULL;
        zr_sim_handle_send(handle, packet, 0);
    }
}

static void heard(struct zr_handle *handle)
{
    zr_handshake_heard(&handle->handshake, handle->process->world->now_us);
}

static void greeted(struct zr_handle *handle, const struct zr_sim_packet *packet)
{
    bool other = handle->session_id != 0 && handle->session_id != packet->session_id;
    if (packet->session_id == 0 || other) {
        zr_sim_handle_over(handle, ZR_MSG_EXPIRED);
        return;
    }
    handle->session_id = packet->session_id;
    handle->timeout_ms = packet->timeout_ms;
    zr_lease_granted(&handle->lease, handle->began_us, zr_sim_timeout_us(handle));
    handle->phase = ZR_SIM_UP;
    heard(handle);
    handle->tries = 0;
    if (handle->closed) {
        zr_sim_handle_part(handle);
        return;
    }
    send_credentials(handle);
    struct zr_sim_packet *watches = zr_sim_watched_packet(handle);
    if (watches != NULL)
        zr_sim_handle_send(handle, watches, 0);
    send_beat(handle, false);
}

/* The first answer proves the connection. The handshake renews the lease only if the quorum saw
   it. */
static void prove(struct zr_handle *handle)
{
    handle->phase = ZR_SIM_PROVED;
    zr_handshake_answered(&handle->handshake);
    if (!handle->known || !handle->write_heartbeat)
        zr_lease_handshake(&handle->lease, handle->began_us, handle->process->world->now_us);
    zr_sim_report_connected(handle);
}

static void beaten(struct zr_handle *handle, const struct zr_sim_packet *packet)
{
    bool proof = !handle->write_heartbeat || packet->copy.op == ZR_OP_DELETE;
    zr_lease_answered(&handle->lease, proof, handle->process->world->now_us);
    if (handle->phase == ZR_SIM_UP)
        prove(handle);
}

static void answered(struct zr_handle *handle, const struct zr_sim_packet *packet)
{
    bool refusal = packet->copy.status == ZR_AUTH_FAILED;
    struct zr_request *request = packet->request;
    if (handle->phase == ZR_SIM_UP)
        heard(handle);
    if (request != NULL) {
        zr_unlink(&request->message.link);
        zr_sim_packet_give(packet);
        zr_sim_watched_add(handle, &packet->copy);
        if (request->op == ZR_OP_UNWATCH && packet->copy.status == ZR_OK)
            zr_sim_watched_remove(handle, request->path);
    }
    if (refusal)
        zr_sim_report_final(handle, ZR_MSG_AUTH_FAILED);
    if (request != NULL)
        zr_sim_report_reply(handle, request);
    if (refusal)
        zr_sim_handle_over(handle, ZR_MSG_AUTH_FAILED);
}

static void fired(struct zr_handle *handle, const struct zr_sim_packet *packet)
{
    if (zr_sim_watched_take(handle, packet->event, packet->copy.path))
        zr_sim_report_event(handle, packet->event, packet->copy.path);
}

void zr_sim_handle_receive(struct zr_handle *handle, struct zr_sim_packet *packet)
{
    handle->heard_us = handle->process->world->now_us;
    if (packet->zxid > 0)
        handle->last_zxid = packet->zxid;
    switch (packet->kind) {
    case ZR_SIM_CONNECT:
        greeted(handle, packet);
        break;
    case ZR_SIM_ASK:
        answered(handle, packet);
        break;
    case ZR_SIM_BEAT:
        beaten(handle, packet);
        break;
    case ZR_SIM_WATCHES:
        heard(handle);
        break;
    case ZR_SIM_PONG:
        break;
    case ZR_SIM_CLOSE:
        zr_sim_handle_finish(handle);
        break;
    case ZR_SIM_EVENT:
        fired(handle, packet);
        break;
    case ZR_SIM_END:
        zr_sim_handle_lost(handle, false);
        break;
    }
}
