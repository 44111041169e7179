/*
 * How a handle gets a connection and loses it:
 * 1. The handle tries one server after the other. It leaves a server that is down, that is behind
 *    what the client has seen, or that is silent for two thirds of the timeout or for the limit of
 *    a handshake.
 * 2. What happens on a connection is in client_protocol.c.
 * 3. The connection is lost: SUSPENDED. The requests in flight fail, and the handle goes to 1.
 */
#include "sim/process.h"
#include "sim/world.h"

/* Between two attempts. After all servers were tried: a sixtieth of the timeout. */
#define PAUSE_US 1000

static struct zr_sim_world *world_of(const struct zr_handle *handle)
{
    return handle->process->world;
}

void zr_sim_handle_send(struct zr_handle *handle, struct zr_sim_packet *packet, int64_t delay_us)
{
    zr_sim_wire_send(&handle->conn->up, packet, delay_us);
}

/* ---- Connecting ---------------------------------------------------------------------------- */

static void alarm(struct zr_sim_event *event);

static void set_alarm(struct zr_handle *handle, int64_t at_us)
{
    zr_sim_schedule(&world_of(handle)->agenda, &handle->alarm, at_us, alarm);
}

static bool is_awaited(const struct zr_handle *handle)
{
    return handle->phase == ZR_SIM_CONNECTING || (handle->phase == ZR_SIM_UP && !handle->parting);
}

static int64_t silence_us(const struct zr_handle *handle)
{
    return handle->heard_us + zr_sim_timeout_us(handle) * 2 / 3;
}

/* When the handle leaves a server that stays silent. */
static int64_t patience_us(const struct zr_handle *handle)
{
    int64_t due_us = silence_us(handle), answer_us = zr_handshake_due_us(&handle->handshake);
    return is_awaited(handle) && answer_us < due_us ? answer_us : due_us;
}

bool zr_sim_handle_silent(const struct zr_handle *handle)
{
    return handle->conn != NULL && silence_us(handle) <= world_of(handle)->now_us;
}

void zr_sim_handle_try(struct zr_handle *handle)
{
    struct zr_sim_world *world = world_of(handle);
    bool round = handle->tries > 0 && handle->tries % world->server_count == 0;
    int64_t pause_us = round ? zr_sim_timeout_us(handle) / 60 : PAUSE_US;
    set_alarm(handle, world->now_us + pause_us);
}

/* The next server of the list, or the one that a fault chooses. */
static struct zr_sim_server *choose(struct zr_handle *handle)
{
    struct zr_sim_world *world = world_of(handle);
    int preferred = handle->process->preferred, count = (int)world->server_count;
    handle->server = preferred >= 0 ? preferred % count : (handle->server + 1) % count;
    handle->process->preferred = -1;
    return &world->servers[handle->server];
}

static bool refused(const struct zr_handle *handle, const struct zr_sim_server *server)
{
    const struct zr_sim_process *process = handle->process;
    return process->unlinked || process->world->now_us < process->down_until_us ||
           !zr_sim_server_serves(server);
}

static void connect(struct zr_handle *handle)
{
    struct zr_sim_world *world = world_of(handle);
    struct zr_sim_server *server = choose(handle);
    handle->tries++;
    if (refused(handle, server)) {
        zr_sim_handle_try(handle);
        return;
    }
    handle->phase = ZR_SIM_CONNECTING;
    handle->began_us = handle->heard_us = world->now_us;
    zr_handshake_begin(&handle->handshake, world->now_us, handle->timeout_ms);
    handle->conn = zr_sim_conn_new(server, handle);
    struct zr_sim_packet *packet = zr_sim_packet_new(handle->conn, ZR_SIM_CONNECT);
    packet->session_id = handle->session_id;
    packet->last_zxid = handle->last_zxid;
    packet->timeout_ms = handle->timeout_ms;
    zr_sim_handle_send(handle, packet, 0);
    set_alarm(handle, patience_us(handle));
}

static void give_up(struct zr_handle *handle)
{
    if (is_awaited(handle))
        zr_handshake_late(&handle->handshake);
    zr_sim_handle_lost(handle, true);
}

static void alarm(struct zr_sim_event *event)
{
    struct zr_handle *handle = ZR_HOLDER(event, struct zr_handle, alarm);
    if (zr_sim_put_off(handle, event))
        return;
    if (handle->phase == ZR_SIM_APART)
        connect(handle);
    else if (patience_us(handle) <= world_of(handle)->now_us)
        give_up(handle);
    else
        set_alarm(handle, patience_us(handle));
}

/* ---- Losing -------------------------------------------------------------------------------- */

static void fail_all(struct zr_handle *handle)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&handle->in_flight)) != NULL) {
        struct zr_request *request = ZR_HOLDER(link, struct zr_request, message.link);
        request->status = ZR_CONNECTION_LOSS;
        request->sent = true;
        for (size_t i = 0; i < request->part_count; i++) {
            request->parts[i].status = ZR_CONNECTION_LOSS;
            request->parts[i].sent = true;
        }
        zr_sim_report_reply(handle, request);
    }
}

/* Heartbeats in flight come back as answers that prove nothing. */
static void fail_beats(struct zr_handle *handle)
{
    while (handle->lease.count > 0)
        zr_lease_answered(&handle->lease, false, world_of(handle)->now_us);
}

static void detach(struct zr_handle *handle, bool arrives)
{
    struct zr_sim_agenda *agenda = &world_of(handle)->agenda;
    zr_sim_cancel(agenda, &handle->alarm);
    zr_sim_cancel(agenda, &handle->beat);
    zr_sim_cancel(agenda, &handle->cut);
    if (handle->conn != NULL)
        zr_sim_conn_let_go(handle->conn, arrives);
    fail_beats(handle);
    handle->conn = NULL;
    handle->phase = ZR_SIM_APART;
}

void zr_sim_handle_lost(struct zr_handle *handle, bool arrives)
{
    world_of(handle)->breaks++;
    detach(handle, arrives);
    zr_sim_report_suspended(handle);
    fail_all(handle);
    if (handle->parting)
        zr_sim_handle_finish(handle);
    else
        zr_sim_handle_try(handle);
}

/* A host that was never told of the session is not told of its end. */
void zr_sim_handle_over(struct zr_handle *handle, enum zr_message_kind kind)
{
    bool silent = kind == ZR_MSG_EXPIRED && !handle->known;
    detach(handle, true);
    handle->session_id = silent ? 0 : handle->session_id;
    if (silent)
        zr_lease_init(&handle->lease, handle->lease.tick_us);
    handle->phase = silent ? ZR_SIM_APART : ZR_SIM_OVER;
    if (!silent)
        zr_sim_report_final(handle, kind);
    fail_all(handle);
    if (handle->closed)
        zr_sim_handle_finish(handle);
    else if (silent)
        zr_sim_handle_try(handle);
}

void zr_sim_handle_finish(struct zr_handle *handle)
{
    detach(handle, true);
    fail_all(handle);
    handle->phase = ZR_SIM_OVER;
    zr_sim_cancel(&world_of(handle)->agenda, &handle->end);
    zr_sim_cancel(&world_of(handle)->agenda, &handle->retry);
    zr_sim_report_ended(handle);
}
