/*
 * 1. The packet has a copy of the client's request, because the request points into memory of the
 *    engine, which may be freed before the packet.
 * 2. The server writes its answer into the copy.
 * 3. The client writes the answer into the request, in memory that specs can make fail.
 */
#include "sim/packet.h"

#include <string.h>

#include "core/alloc.h"
#include "sim/server.h"
#include "sim/world_alloc.h"

struct zr_sim_packet *zr_sim_packet_new(struct zr_sim_conn *conn, enum zr_sim_kind kind)
{
    struct zr_sim_packet *packet = zr_sim_alloc(sizeof(*packet));
    packet->refs = 1;
    packet->kind = kind;
    if (conn != NULL)
        packet->conn = zr_sim_conn_ref(conn);
    packet->through_leader = kind == ZR_SIM_CONNECT || kind == ZR_SIM_BEAT || kind == ZR_SIM_CLOSE;
    return packet;
}

/* ---- Copying ------------------------------------------------------------------------------- */

static struct zr_acls copy_acls(struct zr_acls acls)
{
    size_t size = acls.count * sizeof(*acls.list);
    for (size_t i = 0; i < acls.count; i++)
        size += strlen(acls.list[i].scheme) + strlen(acls.list[i].id) + 2;
    struct zr_acl *copy = zr_sim_alloc(size);
    char *text = (char *)(copy + acls.count);
    for (size_t i = 0; i < acls.count; i++) {
        copy[i].perms = acls.list[i].perms;
        copy[i].scheme = strcpy(text, acls.list[i].scheme);
        text += strlen(text) + 1;
        copy[i].id = strcpy(text, acls.list[i].id);
        text += strlen(text) + 1;
    }
    return (struct zr_acls){copy, acls.count};
}

static bool has_acl(enum zr_op op)
{
    return op == ZR_OP_CREATE || op == ZR_OP_SET_ACL;
}

/* Copies the upper half of a request, except for the parts. Returns about how many bytes that
   is. */
static size_t copy_request(struct zr_request *to, const struct zr_request *from)
{
    size_t length = from->path != NULL ? strlen(from->path) : 0;
    to->op = from->op;
    to->watch = from->watch;
    to->version = from->version;
    to->mode = from->mode;
    to->ttl_ms = from->ttl_ms;
    to->path = from->path != NULL ? zr_sim_copy(from->path, length) : NULL;
    to->data = from->data;
    if (from->data.at != NULL)
        to->data.at = zr_sim_copy(from->data.at, from->data.length);
    if (has_acl(from->op))
        to->acl = copy_acls(from->acl);
    return 16 + length + from->data.length;
}

static bool is_read(const struct zr_request *request)
{
    return request->op == ZR_OP_EXISTS || request->op == ZR_OP_GET ||
           request->op == ZR_OP_CHILDREN || request->op == ZR_OP_GET_ACL ||
           request->op == ZR_OP_ADD_AUTH || request->op == ZR_OP_UNWATCH;
}

struct zr_sim_packet *zr_sim_packet_ask(struct zr_sim_conn *conn, struct zr_request *request)
{
    struct zr_sim_packet *packet = zr_sim_packet_new(conn, ZR_SIM_ASK);
    struct zr_request *copy = &packet->copy;
    packet->request = request;
    packet->size = copy_request(copy, request);
    packet->through_leader = !is_read(request);
    if (request->op != ZR_OP_MULTI)
        return packet;
    copy->parts = zr_sim_alloc(request->part_count * sizeof(*copy->parts));
    copy->part_count = request->part_count;
    for (size_t i = 0; i < request->part_count; i++)
        packet->size += copy_request(&copy->parts[i], &request->parts[i]);
    return packet;
}

struct zr_sim_packet *zr_sim_packet_ref(struct zr_sim_packet *packet)
{
    packet->refs++;
    return packet;
}

static void clear(struct zr_request *copy)
{
    zr_sim_release((char *)copy->path);
    zr_sim_release((char *)copy->data.at);
    zr_sim_release((struct zr_acl *)copy->acl.list);
    zr_sim_release(copy->created);
    zr_sim_release((char *)copy->data_reply.at);
    zr_sim_release(copy->names);
    for (size_t i = 0; i < copy->part_count; i++)
        clear(&copy->parts[i]);
    zr_sim_release(copy->parts);
}

void zr_sim_packet_unref(struct zr_sim_packet *packet)
{
    if (--packet->refs > 0)
        return;
    clear(&packet->copy);
    zr_sim_acl_unref(packet->acl);
    for (size_t i = 0; i < packet->rewatch_count; i++)
        zr_sim_release(packet->rewatches[i].path);
    zr_sim_release(packet->rewatches);
    zr_sim_release(packet->heard);
    if (packet->conn != NULL)
        zr_sim_conn_unref(packet->conn);
    zr_sim_release(packet);
}

struct zr_request *zr_sim_packet_parts(struct zr_sim_packet *packet, size_t *count)
{
    bool multi = packet->copy.op == ZR_OP_MULTI;
    *count = multi ? packet->copy.part_count : 1;
    return multi ? packet->copy.parts : &packet->copy;
}

/* ---- Giving the answer --------------------------------------------------------------------- */

/* One block: names behind the pointers. */
static struct zr_names *copy_names(const struct zr_names *names)
{
    size_t size = sizeof(*names) + names->count * sizeof(char *);
    for (size_t i = 0; i < names->count; i++)
        size += strlen(names->at[i]) + 1;
    struct zr_names *copy = zr_alloc(size);
    if (copy == NULL)
        return NULL;
    char *text = (char *)&copy->at[names->count];
    for (; copy->count < names->count; copy->count++) {
        copy->at[copy->count] = strcpy(text, names->at[copy->count]);
        text += strlen(text) + 1;
    }
    return copy;
}

static struct zr_acl_reply *copy_acl(const struct zr_sim_acl *acl)
{
    size_t size = sizeof(struct zr_acl_reply) + acl->count * sizeof(struct zr_acl);
    for (size_t i = 0; i < acl->count; i++)
        size += strlen(acl->list[i].scheme) + strlen(acl->list[i].id) + 2;
    struct zr_acl_reply *copy = zr_alloc(size);
    if (copy == NULL)
        return NULL;
    char *text = (char *)&copy->at[acl->count];
    for (; copy->count < acl->count; copy->count++) {
        struct zr_acl *to = &copy->at[copy->count];
        to->perms = acl->list[copy->count].perms;
        to->scheme = strcpy(text, acl->list[copy->count].scheme);
        text += strlen(text) + 1;
        to->id = strcpy(text, acl->list[copy->count].id);
        text += strlen(text) + 1;
    }
    return copy;
}

static void give_one(struct zr_request *to, const struct zr_request *from)
{
    to->status = from->status;
    to->sent = true;
    to->stat = from->stat;
    if (from->created != NULL)
        strcpy(to->created, from->created);
}

static bool give_blocks(struct zr_request *to, const struct zr_request *from,
                        const struct zr_sim_acl *acl)
{
    if (from->data_reply.at != NULL) {
        to->data_reply.at = zr_copy(from->data_reply.at, from->data_reply.length);
        to->data_reply.length = to->data_reply.at != NULL ? from->data_reply.length : 0;
        return to->data_reply.at != NULL;
    }
    if (from->names != NULL)
        return (to->names = copy_names(from->names)) != NULL;
    if (acl != NULL)
        return (to->acl_reply = copy_acl(acl)) != NULL;
    return true;
}

void zr_sim_packet_give(const struct zr_sim_packet *packet)
{
    struct zr_request *to = packet->request;
    give_one(to, &packet->copy);
    for (size_t i = 0; i < packet->copy.part_count; i++)
        give_one(&to->parts[i], &packet->copy.parts[i]);
    if (!give_blocks(to, &packet->copy, packet->acl))
        to->status = ZR_NO_MEMORY;
}
