/*
 * The host's side of a handle: open, submit, close. Each of them only begins an operation. Its
 * answer, or the end of the handle, comes when the clock moves, and never before the next take.
 */
#include <string.h>

#include "core/alloc.h"
#include "sim/process.h"
#include "sim/world.h"

#define LONGEST_PARTING_US 4000000

/* ---- Opening ------------------------------------------------------------------------------- */

bool zr_sim_handle_remember(struct zr_handle *handle, const char *scheme, struct zr_bytes bytes)
{
    size_t room = strlen(scheme) + 1;
    struct zr_sim_credential *made = zr_alloc(sizeof(*made) + room + bytes.length);
    if (made == NULL)
        return false;
    char *text = (char *)(made + 1);
    made->scheme = memcpy(text, scheme, room);
    if (bytes.length > 0)
        memcpy(text + room, bytes.at, bytes.length);
    made->bytes = (struct zr_bytes){text + room, bytes.length};
    struct zr_sim_credential **end = &handle->credentials;
    while (*end != NULL)
        end = &(*end)->next;
    *end = made;
    return true;
}

static bool init(struct zr_handle *handle, const struct zr_zk_config *config)
{
    struct zr_sim_world *world = handle->process->world;
    bool fits = zr_sim_report_init(handle);
    zr_list_init(&handle->in_flight);
    handle->timeout_ms = config->timeout_ms;
    handle->write_heartbeat = config->write_heartbeat;
    zr_lease_init(&handle->lease, config->tick_us);
    handle->close_by_us = INT64_MAX;
    handle->server = (int)zr_sim_random_below(&world->random, (int64_t)world->server_count);
    for (size_t i = 0; i < config->auth_count && fits; i++)
        fits = zr_sim_handle_remember(handle, config->auth[i].scheme, config->auth[i].credential);
    return fits;
}

struct zr_handle *zr_sim_handle_new(struct zr_sim_process *process,
                                    const struct zr_zk_config *config, void *owner)
{
    struct zr_handle *handle = zr_alloc(sizeof(*handle));
    if (handle == NULL)
        return NULL;
    handle->process = process;
    handle->owner = owner;
    zr_list_append(&process->handles, &handle->link);
    if (!init(handle, config)) {
        zr_sim_handle_free(handle);
        return NULL;
    }
    zr_sim_handle_try(handle);
    return handle;
}

void zr_sim_handle_free(struct zr_handle *handle)
{
    struct zr_sim_agenda *agenda = &handle->process->world->agenda;
    struct zr_sim_event *events[] = {&handle->alarm, &handle->beat, &handle->cut, &handle->retry,
                                     &handle->end};
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        zr_sim_cancel(agenda, events[i]);
    if (handle->conn != NULL)
        zr_sim_conn_let_go(handle->conn, true);
    zr_unlink(&handle->link);
    zr_sim_watched_fini(handle);
    zr_sim_report_fini(handle);
    while (handle->credentials != NULL) {
        struct zr_sim_credential *next = handle->credentials->next;
        zr_free(handle->credentials);
        handle->credentials = next;
    }
    zr_free(handle);
}

/* ---- Submitting ---------------------------------------------------------------------------- */

/* Checks what the library checks: misplaced slashes and dots. */
static bool is_path(const char *path, bool sequential)
{
    size_t length = strlen(path);
    if (path[0] != '/')
        return false;
    if (length > 1 && path[length - 1] == '/' && !sequential)
        return false;
    for (const char *name = path; (name = strchr(name, '/')) != NULL;) {
        size_t size = strcspn(++name, "/");
        bool empty = size == 0 && name[0] != '\0';
        if (empty || (size == 1 && name[0] == '.') || (size == 2 && strncmp(name, "..", 2) == 0))
            return false;
    }
    return true;
}

static bool is_sequential(const struct zr_request *request)
{
    return request->op == ZR_OP_CREATE &&
           (request->mode == ZR_PERSISTENT_SEQUENTIAL || request->mode == ZR_EPHEMERAL_SEQUENTIAL ||
            request->mode == ZR_PERSISTENT_SEQUENTIAL_TTL);
}

static bool has_path(const struct zr_request *request)
{
    return request->op == ZR_OP_ADD_AUTH || request->op == ZR_OP_RECONFIG ||
           request->op == ZR_OP_MULTI || is_path(request->path, is_sequential(request));
}

/* The library cannot send other parts. */
static bool may_be_part(const struct zr_request *part)
{
    bool plain = part->op == ZR_OP_CREATE && part->mode < ZR_CONTAINER;
    return (plain || part->op == ZR_OP_DELETE || part->op == ZR_OP_SET ||
            part->op == ZR_OP_CHECK) &&
           has_path(part);
}

static bool is_valid(const struct zr_request *request)
{
    bool ttl = request->op == ZR_OP_CREATE && request->mode >= ZR_PERSISTENT_TTL;
    if (!has_path(request) || request->op == ZR_OP_CHECK || (ttl && request->ttl_ms <= 0))
        return false;
    for (size_t i = 0; i < request->part_count; i++)
        if (!may_be_part(&request->parts[i]))
            return false;
    return request->op != ZR_OP_MULTI || request->part_count > 0;
}

/* Fails where the real client needs memory to send, so that specs can exhaust memory here too. */
static bool is_affordable(struct zr_handle *handle, const struct zr_request *request)
{
    if (request->op == ZR_OP_ADD_AUTH)
        return zr_sim_handle_remember(handle, request->path, request->data);
    if (request->op != ZR_OP_CREATE && request->op != ZR_OP_SET_ACL && request->op != ZR_OP_MULTI)
        return true;
    void *probe = zr_alloc(1);
    zr_free(probe);
    return probe != NULL;
}

static enum zr_status objection(struct zr_handle *handle, const struct zr_request *request)
{
    if (handle->closed || handle->phase != ZR_SIM_PROVED || !handle->connected)
        return ZR_CONNECTION_LOSS;
    if (!is_valid(request))
        return ZR_BAD_ARGUMENTS;
    /* The library does not ask the server about a path on which it has no watch. */
    if (request->op == ZR_OP_UNWATCH && !zr_sim_watched_on(handle, request->path))
        return ZR_SERVER_ERROR;
    return is_affordable(handle, request) ? ZR_OK : ZR_NO_MEMORY;
}

static void trace(const struct zr_handle *handle, const struct zr_request *request)
{
    static const char *const ops[] = {"create",   "delete",  "exists",  "get",     "set",
                                      "children", "sync",    "get_acl", "set_acl", "add_auth",
                                      "reconfig", "unwatch", "multi",   "check"};
    zr_sim_trace(handle->process->world, "client %016llx: asks %s %s%s",
                 (unsigned long long)handle->session_id, ops[request->op],
                 request->path != NULL ? request->path : "", request->watch ? " (watch)" : "");
}

static void send(struct zr_handle *handle, struct zr_request *request)
{
    struct zr_sim_plan met;
    struct zr_sim_packet *packet = zr_sim_packet_ask(handle->conn, request);
    int64_t delay_us = zr_sim_faults_before(handle, packet, &met);
    trace(handle, request);
    handle->process->requests[request->op]++;
    handle->process->world->requests[request->op]++;
    zr_list_append(&handle->in_flight, &request->message.link);
    zr_sim_handle_send(handle, packet, delay_us);
    zr_sim_faults_after(handle, &met);
}

void zr_sim_handle_submit(struct zr_handle *handle, struct zr_request *request)
{
    request->message.kind = ZR_MSG_REPLY;
    request->status = objection(handle, request);
    if (request->status == ZR_OK) {
        send(handle, request);
        return;
    }
    request->sent = false;
    zr_sim_report_reply(handle, request);
}

/* ---- Closing ------------------------------------------------------------------------------- */

static void end(struct zr_sim_event *event)
{
    struct zr_handle *handle = ZR_HOLDER(event, struct zr_handle, end);
    if (!zr_sim_put_off(handle, event))
        zr_sim_handle_finish(handle);
}

static void end_by(struct zr_handle *handle)
{
    struct zr_sim_world *world = handle->process->world;
    int64_t parting_us = world->now_us + LONGEST_PARTING_US;
    bool parts_first = handle->parting && parting_us < handle->close_by_us;
    zr_sim_schedule(&world->agenda, &handle->end, parts_first ? parting_us : handle->close_by_us,
                    end);
}

static bool is_up(const struct zr_handle *handle)
{
    return handle->phase == ZR_SIM_UP || handle->phase == ZR_SIM_PROVED;
}

static void close_first(struct zr_handle *handle)
{
    handle->closed = true;
    if (handle->phase == ZR_SIM_OVER || (handle->session_id == 0 && !is_up(handle)))
        zr_sim_handle_finish(handle);
    else if (is_up(handle))
        zr_sim_handle_part(handle);
}

void zr_sim_handle_close(struct zr_handle *handle, int64_t linger_us)
{
    int64_t now_us = handle->process->world->now_us;
    int64_t by_us = linger_us > INT64_MAX - now_us ? INT64_MAX : now_us + linger_us;
    if (by_us < handle->close_by_us)
        handle->close_by_us = by_us;
    if (!handle->closed)
        close_first(handle);
    if (handle->ended != NULL)
        end_by(handle);
}
