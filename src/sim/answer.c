/*
 * Answers reads, with the checks in the order of ZooKeeper 3.8.0: first whether the znode exists,
 * then whether the client may read it. Only a read that succeeds leaves a watch; but an exists also
 * leaves a watch if the znode does not exist.
 */
#include <string.h>

#include "sim/server.h"
#include "sim/world_alloc.h"

static enum zr_status exists(struct zr_sim_server *server, struct zr_sim_conn *conn,
                             struct zr_request *copy)
{
    struct zr_sim_node *node = zr_sim_tree_find(&server->tree, copy->path, strlen(copy->path));
    if (copy->watch)
        zr_sim_watch_add(&server->watches, copy->path, ZR_SIM_DATA_WATCH, conn);
    if (node == NULL)
        return ZR_NO_NODE;
    copy->stat = zr_sim_node_stat(node);
    return ZR_OK;
}

/* Finds the znode of a read that needs one of these permissions. */
static enum zr_status look(struct zr_sim_server *server, struct zr_sim_conn *conn,
                           struct zr_request *copy, int32_t perms, struct zr_sim_node **node)
{
    *node = zr_sim_tree_find(&server->tree, copy->path, strlen(copy->path));
    if (*node == NULL)
        return ZR_NO_NODE;
    if (!zr_sim_acl_allows((*node)->acl, perms, conn->who))
        return ZR_NO_AUTH;
    copy->stat = zr_sim_node_stat(*node);
    return ZR_OK;
}

static enum zr_status get(struct zr_sim_server *server, struct zr_sim_conn *conn,
                          struct zr_request *copy)
{
    struct zr_sim_node *node;
    enum zr_status status = look(server, conn, copy, ZR_READ, &node);
    if (status != ZR_OK)
        return status;
    copy->data_reply = node->data;
    if (node->data.at != NULL)
        copy->data_reply.at = zr_sim_copy(node->data.at, node->data.length);
    if (copy->watch)
        zr_sim_watch_add(&server->watches, copy->path, ZR_SIM_DATA_WATCH, conn);
    return ZR_OK;
}

static const char *name_of(const struct zr_sim_node *node)
{
    return strrchr(node->path, '/') + 1;
}

static struct zr_names *names_of(const struct zr_sim_node *node)
{
    const struct zr_sim_node *child;
    size_t size = sizeof(struct zr_names) + (size_t)node->stat.child_count * sizeof(char *);
    for (child = NULL; (child = zr_sim_next_child(node, child)) != NULL;)
        size += strlen(name_of(child)) + 1;
    struct zr_names *names = zr_sim_alloc(size);
    char *text = (char *)&names->at[node->stat.child_count];
    for (child = NULL; (child = zr_sim_next_child(node, child)) != NULL;) {
        names->at[names->count++] = strcpy(text, name_of(child));
        text += strlen(text) + 1;
    }
    return names;
}

static enum zr_status children(struct zr_sim_server *server, struct zr_sim_conn *conn,
                               struct zr_request *copy)
{
    struct zr_sim_node *node;
    enum zr_status status = look(server, conn, copy, ZR_READ, &node);
    if (status != ZR_OK)
        return status;
    copy->names = names_of(node);
    if (copy->watch)
        zr_sim_watch_add(&server->watches, copy->path, ZR_SIM_CHILD_WATCH, conn);
    return ZR_OK;
}

static enum zr_status unwatch(struct zr_sim_server *server, struct zr_sim_conn *conn,
                              const struct zr_request *copy)
{
    bool found = zr_sim_watch_remove(&server->watches, copy->path, conn);
    return found ? ZR_OK : ZR_SERVER_ERROR;
}

static enum zr_status get_acl(struct zr_sim_server *server, struct zr_sim_packet *packet)
{
    struct zr_sim_node *node;
    struct zr_sim_conn *conn = packet->conn;
    enum zr_status status = look(server, conn, &packet->copy, ZR_READ | ZR_ADMIN, &node);
    if (status != ZR_OK)
        return status;
    bool all = zr_sim_acl_allows(node->acl, ZR_ADMIN, conn->who);
    packet->acl = all ? zr_sim_acl_ref(node->acl) : zr_sim_acl_masked(node->acl);
    return ZR_OK;
}

void zr_sim_answer(struct zr_sim_server *server, struct zr_sim_packet *packet)
{
    struct zr_request *copy = &packet->copy;
    if (copy->op == ZR_OP_EXISTS)
        copy->status = exists(server, packet->conn, copy);
    else if (copy->op == ZR_OP_GET)
        copy->status = get(server, packet->conn, copy);
    else if (copy->op == ZR_OP_CHILDREN)
        copy->status = children(server, packet->conn, copy);
    else if (copy->op == ZR_OP_UNWATCH)
        copy->status = unwatch(server, packet->conn, copy);
    else
        copy->status = get_acl(server, packet);
}

/* ---- After a reconnect --------------------------------------------------------------------- */

static void rewatch_data(struct zr_sim_server *server, struct zr_sim_packet *packet,
                         const char *path, const struct zr_sim_node *node)
{
    if (node == NULL)
        zr_sim_conn_tell(packet->conn, ZR_DELETED, path);
    else if (node->stat.mzxid > packet->last_zxid)
        zr_sim_conn_tell(packet->conn, ZR_CHANGED, path);
    else
        zr_sim_watch_add(&server->watches, path, ZR_SIM_DATA_WATCH, packet->conn);
}

static void rewatch_absence(struct zr_sim_server *server, struct zr_sim_packet *packet,
                            const char *path, const struct zr_sim_node *node)
{
    if (node != NULL)
        zr_sim_conn_tell(packet->conn, ZR_CREATED, path);
    else
        zr_sim_watch_add(&server->watches, path, ZR_SIM_DATA_WATCH, packet->conn);
}

static void rewatch_children(struct zr_sim_server *server, struct zr_sim_packet *packet,
                             const char *path, const struct zr_sim_node *node)
{
    if (node == NULL)
        zr_sim_conn_tell(packet->conn, ZR_DELETED, path);
    else if (node->stat.pzxid > packet->last_zxid)
        zr_sim_conn_tell(packet->conn, ZR_CHILDREN_CHANGED, path);
    else
        zr_sim_watch_add(&server->watches, path, ZR_SIM_CHILD_WATCH, packet->conn);
}

/* Handles all watches of one kind before the next kind. */
static void rewatch(struct zr_sim_server *server, struct zr_sim_packet *packet, unsigned kind,
                    void (*one)(struct zr_sim_server *server, struct zr_sim_packet *packet,
                                const char *path, const struct zr_sim_node *node))
{
    for (size_t i = 0; i < packet->rewatch_count; i++) {
        const char *path = packet->rewatches[i].path;
        if (packet->rewatches[i].on & kind)
            one(server, packet, path, zr_sim_tree_find(&server->tree, path, strlen(path)));
    }
}

void zr_sim_answer_watches(struct zr_sim_server *server, struct zr_sim_packet *packet)
{
    rewatch(server, packet, ZR_SIM_ON_DATA, rewatch_data);
    rewatch(server, packet, ZR_SIM_ON_ABSENCE, rewatch_absence);
    rewatch(server, packet, ZR_SIM_ON_CHILDREN, rewatch_children);
}
