/*
 * The driver's commands: faults of whole processes and servers, and changes to znodes. When a fault
 * ends, zr_sim_wire_resume lets the wires that it held continue, and zr_sim_put_off the events.
 */
#include <string.h>

#include "sim/leader.h"
#include "sim/process.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

/* ---- Clients ------------------------------------------------------------------------------- */

static void each_handle(struct zr_sim_process *process,
                        void (*visit)(struct zr_handle *handle, int64_t with), int64_t with)
{
    ZR_LIST_EACH (link, &process->handles) {
        visit(ZR_HOLDER(link, struct zr_handle, link), with);
    }
}

static void lose_arriving(struct zr_handle *handle, int64_t session)
{
    if (handle->conn != NULL && (session == 0 || session == handle->session_id))
        zr_sim_handle_lost(handle, true);
}

static void lose_all(struct zr_handle *handle, int64_t session)
{
    if (handle->conn != NULL && (session == 0 || session == handle->session_id))
        zr_sim_handle_lost(handle, false);
}

void zr_sim_cut(struct zr_zk *zk, int64_t session, bool arrives)
{
    each_handle(zr_sim_process_of(zk), arrives ? lose_arriving : lose_all, session);
}

void zr_sim_link(struct zr_zk *zk, bool up)
{
    zr_sim_process_of(zk)->unlinked = !up;
    if (up)
        zr_sim_process_of(zk)->down_until_us = 0;
    else
        zr_sim_cut(zk, 0, false);
}

/* Includes the wires that the client has given up but the server has not. */
static void resume_wires(struct zr_sim_process *process)
{
    struct zr_sim_world *world = process->world;
    for (size_t i = 0; i < world->server_count; i++) {
        const struct zr_list *conns = &world->servers[i].conns;
        ZR_LIST_EACH (link, conns) {
            struct zr_sim_conn *conn = ZR_HOLDER(link, struct zr_sim_conn, link);
            if (conn->process == process) {
                zr_sim_wire_resume(&conn->up);
                zr_sim_wire_resume(&conn->down);
            }
        }
    }
}

/* Includes connections that the server has given up but the client has not. */
static void resume_wire(struct zr_handle *handle, int64_t unused)
{
    (void)unused;
    if (handle->conn != NULL && !handle->conn->open)
        zr_sim_wire_resume(&handle->conn->down);
}

void zr_sim_partition(struct zr_zk *zk, unsigned held)
{
    zr_sim_process_of(zk)->held = held;
    resume_wires(zr_sim_process_of(zk));
    each_handle(zr_sim_process_of(zk), resume_wire, 0);
}

bool zr_sim_put_off(const struct zr_handle *handle, struct zr_sim_event *event)
{
    struct zr_sim_process *process = handle->process;
    if (process->world->now_us >= process->paused_until_us)
        return false;
    zr_sim_schedule(&process->world->agenda, event, process->paused_until_us, event->happen);
    return true;
}

/* The library checks its clock before it reads what has come in. Our own limit of a handshake is
   checked after that. */
static void notice_silence(struct zr_handle *handle, int64_t unused)
{
    (void)unused;
    if (zr_sim_handle_silent(handle))
        zr_sim_handle_lost(handle, true);
}

static void go_on(struct zr_sim_event *event)
{
    each_handle(ZR_HOLDER(event, struct zr_sim_process, resume), notice_silence, 0);
}

void zr_sim_pause(struct zr_zk *zk, int64_t us)
{
    struct zr_sim_process *process = zr_sim_process_of(zk);
    struct zr_sim_world *world = process->world;
    if (world->now_us + us <= process->paused_until_us)
        return;
    process->paused_until_us = world->now_us + us;
    zr_sim_schedule(&world->agenda, &process->resume, process->paused_until_us, go_on);
    resume_wires(process);
    each_handle(process, resume_wire, 0);
}

void zr_sim_prefer(struct zr_zk *zk, int server)
{
    zr_sim_process_of(zk)->preferred = server;
}

/* ---- Servers ------------------------------------------------------------------------------- */

bool zr_sim_expire(struct zr_sim_world *world, int64_t session)
{
    struct zr_sim_session *found = zr_sim_session_find(world, session);
    if (found != NULL)
        zr_sim_session_end(world, found, NULL);
    return found != NULL;
}

bool zr_sim_rename(struct zr_sim_world *world, int64_t session)
{
    struct zr_sim_session *found = zr_sim_session_find(world, session);
    if (found != NULL)
        found->renamed = true;
    return found != NULL;
}

void zr_sim_grant(struct zr_sim_world *world, int32_t timeout_ms)
{
    world->most_timeout_ms = timeout_ms;
}

static struct zr_sim_server *server_of(struct zr_sim_world *world, int server)
{
    return &world->servers[(size_t)server % world->server_count];
}

void zr_sim_lag(struct zr_sim_world *world, int server, int64_t us)
{
    struct zr_sim_server *lagging = server_of(world, server);
    lagging->lag_us = lagging->number == 0 ? 0 : us;
    zr_sim_server_catch_up(lagging);
}

void zr_sim_isolate(struct zr_sim_world *world, int server, bool on)
{
    zr_sim_server_isolate(server_of(world, server), on, false);
}

void zr_sim_sever(struct zr_sim_world *world, int server)
{
    zr_sim_server_isolate(server_of(world, server), true, true);
}

void zr_sim_pause_server(struct zr_sim_world *world, int server, int64_t us)
{
    zr_sim_server_pause(server_of(world, server), us);
}

void zr_sim_hold_server(struct zr_sim_world *world, int server, unsigned held, int64_t us)
{
    struct zr_sim_server *holding = server_of(world, server);
    if (held & ZR_SIM_TO_SERVER)
        holding->up_held_us = world->now_us + us;
    if (held & ZR_SIM_TO_CLIENT)
        holding->down_held_us = world->now_us + us;
    zr_sim_wire_resume(&holding->to_leader);
    zr_sim_server_catch_up(holding);
}

/* A new leader gives every session its full timeout again. */
static void stop_all(struct zr_sim_world *world, bool on)
{
    for (size_t i = world->server_count; i-- > 0;)
        zr_sim_server_stop(&world->servers[i], on);
    const struct zr_list *sessions = &world->sessions;
    ZR_LIST_EACH (link, sessions)
        zr_sim_session_touch(world, ZR_HOLDER(link, struct zr_sim_session, link));
}

void zr_sim_stop(struct zr_sim_world *world, int server, bool on)
{
    struct zr_sim_server *stopping = server_of(world, server);
    if (stopping->number == 0)
        stop_all(world, on);
    else
        zr_sim_server_stop(stopping, on);
}

bool zr_sim_set_counter(struct zr_sim_world *world, const char *path, int32_t counter)
{
    bool found = false;
    for (size_t i = 0; i < world->server_count; i++) {
        struct zr_sim_node *node = zr_sim_tree_find(&world->servers[i].tree, path, strlen(path));
        if (node == NULL)
            continue;
        node->stat.cversion = counter;
        node->announced_until = 0;
        found = true;
    }
    return found;
}

void zr_sim_set_faults(struct zr_sim_world *world, const struct zr_sim_faults *faults)
{
    const struct zr_sim_faults none = {0};
    world->faults = faults != NULL ? *faults : none;
    if (faults != NULL)
        return;
    for (size_t i = 0; i < world->server_count; i++)
        zr_sim_lag(world, (int)i, 0);
    const struct zr_list *all = &world->processes;
    ZR_LIST_EACH (link, all)
        ZR_HOLDER(link, struct zr_sim_process, link)->down_until_us = 0;
}

/* ---- Changes, as if an administrator made them without any of the clients -------------------- */

/* Also null while the leader is down. */
static struct zr_sim_node *find_served(const struct zr_sim_world *world, const char *path)
{
    if (!zr_sim_server_serves(&world->servers[0]))
        return NULL;
    return zr_sim_tree_find(&world->servers[0].tree, path, strlen(path));
}

bool zr_sim_touch(struct zr_sim_world *world, const char *path)
{
    const struct zr_sim_node *node = find_served(world, path);
    if (node == NULL)
        return false;
    struct zr_sim_txn *txn = zr_sim_txn_new(NULL);
    struct zr_sim_change *change = zr_sim_txn_add(txn, ZR_SIM_SET, path, strlen(path));
    change->number = (int32_t)((uint32_t)node->stat.version + 1u);
    change->data = node->data;
    if (node->data.at != NULL)
        change->data.at = zr_sim_copy(node->data.at, node->data.length);
    zr_sim_trace(world, "leader: another client writes to %s", path);
    zr_sim_leader_commit(world, txn, true);
    return true;
}

bool zr_sim_remove(struct zr_sim_world *world, const char *path)
{
    const struct zr_sim_node *node = find_served(world, path);
    if (node == NULL || node->stat.child_count > 0)
        return false;
    struct zr_sim_txn *txn = zr_sim_txn_new(NULL);
    zr_sim_txn_add(txn, ZR_SIM_DELETE, path, strlen(path));
    zr_sim_trace(world, "leader: another client deletes %s", path);
    zr_sim_leader_commit(world, txn, true);
    return true;
}
