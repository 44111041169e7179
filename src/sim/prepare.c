/*
 * What PrepRequestProcessor does in ZooKeeper 3.8.0, with its order of checks. A multi is checked
 * part by part, each as if the parts before it were done. The tree is not changed here, so a
 * refusal has nothing to undo.
 *
 * This also explains the strange end of the counter: the leader adds one to it without a check,
 * while the tree never lowers it. So a second sequential create in the same multi, or a create that
 * comes before the first is committed, is numbered -2147483648; later creates are numbered
 * 2147483647 again.
 */
#include <stdio.h>
#include <string.h>

#include "sim/outstanding.h"
#include "sim/leader.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

static bool allowed(const struct zr_sim_outstanding *outstanding,
                    const struct zr_sim_record *record, int32_t perms)
{
    return zr_sim_acl_allows(record->acl, perms, outstanding->who);
}

static bool wrong_version(int32_t now, int32_t wanted)
{
    return wanted != ZR_ANY_VERSION && wanted != now;
}

static int32_t plus_one(int32_t number)
{
    return (int32_t)((uint32_t)number + 1u);
}

/* ---- Creating ------------------------------------------------------------------------------ */

static bool is_sequential(enum zr_mode mode)
{
    return mode == ZR_PERSISTENT_SEQUENTIAL || mode == ZR_EPHEMERAL_SEQUENTIAL ||
           mode == ZR_PERSISTENT_SEQUENTIAL_TTL;
}

static bool is_ttl(enum zr_mode mode)
{
    return mode == ZR_PERSISTENT_TTL || mode == ZR_PERSISTENT_SEQUENTIAL_TTL;
}

static int64_t owner_of(const struct zr_sim_outstanding *outstanding, const struct zr_request *copy)
{
    if (is_ttl(copy->mode))
        return ZR_SIM_TTL_MASK | copy->ttl_ms;
    if (copy->mode == ZR_CONTAINER)
        return ZR_SIM_CONTAINER_OWNER;
    bool ephemeral = copy->mode == ZR_EPHEMERAL || copy->mode == ZR_EPHEMERAL_SEQUENTIAL;
    return ephemeral ? outstanding->session_id : 0;
}

static char *path_of(const struct zr_request *copy, const struct zr_sim_record *parent)
{
    size_t room = strlen(copy->path) + 12;
    char *path = zr_sim_alloc(room);
    if (is_sequential(copy->mode))
        snprintf(path, room, "%s%010d", copy->path, (int)parent->cversion);
    else
        snprintf(path, room, "%s", copy->path);
    return path;
}

static void add_create(struct zr_sim_outstanding *outstanding, struct zr_request *copy,
                       struct zr_sim_record *parent, struct zr_sim_acl *acl)
{
    size_t length = strlen(copy->created);
    struct zr_sim_change *change =
        zr_sim_txn_add(outstanding->txn, ZR_SIM_CREATE, copy->created, length);
    parent->cversion = change->number = plus_one(parent->cversion);
    parent->children++;
    change->owner = owner_of(outstanding, copy);
    change->acl = zr_sim_acl_ref(acl);
    change->data = copy->data;
    if (copy->data.at != NULL)
        change->data.at = zr_sim_copy(copy->data.at, copy->data.length);
    zr_sim_outstanding_note(outstanding, parent);
    zr_sim_outstanding_note(outstanding, &(struct zr_sim_record){.path = copy->created,
                                                                 .length = length,
                                                                 .exists = true,
                                                                 .owner = change->owner,
                                                                 .acl = change->acl});
}

static enum zr_status create_under(struct zr_sim_outstanding *outstanding, struct zr_request *copy,
                                   struct zr_sim_acl *acl)
{
    struct zr_sim_record parent, node;
    if (!zr_sim_outstanding_find(outstanding, copy->path, zr_sim_parent_length(copy->path),
                                 &parent))
        return ZR_NO_NODE;
    if (!allowed(outstanding, &parent, ZR_CREATE))
        return ZR_NO_AUTH;
    copy->created = path_of(copy, &parent);
    if (zr_sim_outstanding_find(outstanding, copy->created, strlen(copy->created), &node))
        return ZR_NODE_EXISTS;
    if (zr_sim_is_ephemeral(parent.owner))
        return ZR_NO_CHILDREN_FOR_EPHEMERALS;
    add_create(outstanding, copy, &parent, acl);
    return ZR_OK;
}

static enum zr_status create(struct zr_sim_outstanding *outstanding, struct zr_request *copy)
{
    struct zr_sim_acl *acl = NULL;
    if (is_ttl(copy->mode) && (copy->ttl_ms <= 0 || copy->ttl_ms > ZR_SIM_TTL_MAX))
        return ZR_BAD_ARGUMENTS;
    enum zr_status status = zr_sim_acl_fix(copy->acl, outstanding->who, &acl);
    if (status == ZR_OK)
        status = create_under(outstanding, copy, acl);
    zr_sim_acl_unref(acl);
    return status;
}

/* ---- The other writes ---------------------------------------------------------------------- */

static bool is_the_servers_own(const char *path)
{
    return strcmp(path, "/") == 0 || strcmp(path, "/zookeeper") == 0 ||
           strcmp(path, "/zookeeper/quota") == 0 || strcmp(path, "/zookeeper/config") == 0;
}

static enum zr_status remove_node(struct zr_sim_outstanding *outstanding,
                                  const struct zr_request *copy)
{
    struct zr_sim_record parent, node;
    size_t length = strlen(copy->path);
    if (is_the_servers_own(copy->path))
        return ZR_BAD_ARGUMENTS;
    if (!zr_sim_outstanding_find(outstanding, copy->path, zr_sim_parent_length(copy->path),
                                 &parent))
        return ZR_NO_NODE;
    if (!allowed(outstanding, &parent, ZR_DELETE))
        return ZR_NO_AUTH;
    if (!zr_sim_outstanding_find(outstanding, copy->path, length, &node))
        return ZR_NO_NODE;
    if (wrong_version(node.version, copy->version))
        return ZR_BAD_VERSION;
    if (node.children > 0)
        return ZR_NOT_EMPTY;
    zr_sim_txn_add(outstanding->txn, ZR_SIM_DELETE, copy->path, length);
    parent.children--;
    node.exists = false;
    zr_sim_outstanding_note(outstanding, &parent);
    zr_sim_outstanding_note(outstanding, &node);
    return ZR_OK;
}

static enum zr_status set(struct zr_sim_outstanding *outstanding, const struct zr_request *copy)
{
    struct zr_sim_record node;
    size_t length = strlen(copy->path);
    if (!zr_sim_outstanding_find(outstanding, copy->path, length, &node))
        return ZR_NO_NODE;
    if (!allowed(outstanding, &node, ZR_WRITE))
        return ZR_NO_AUTH;
    if (wrong_version(node.version, copy->version))
        return ZR_BAD_VERSION;
    struct zr_sim_change *change = zr_sim_txn_add(outstanding->txn, ZR_SIM_SET, copy->path, length);
    change->number = node.version = plus_one(node.version);
    change->data = copy->data;
    if (copy->data.at != NULL)
        change->data.at = zr_sim_copy(copy->data.at, copy->data.length);
    zr_sim_outstanding_note(outstanding, &node);
    return ZR_OK;
}

static enum zr_status add_set_acl(struct zr_sim_outstanding *outstanding,
                                  const struct zr_request *copy, struct zr_sim_acl *acl)
{
    struct zr_sim_record node;
    size_t length = strlen(copy->path);
    if (!zr_sim_outstanding_find(outstanding, copy->path, length, &node))
        return ZR_NO_NODE;
    if (!allowed(outstanding, &node, ZR_ADMIN))
        return ZR_NO_AUTH;
    if (wrong_version(node.aversion, copy->version))
        return ZR_BAD_VERSION;
    struct zr_sim_change *change =
        zr_sim_txn_add(outstanding->txn, ZR_SIM_SET_ACL, copy->path, length);
    change->number = plus_one(node.aversion);
    change->acl = zr_sim_acl_ref(acl);
    return ZR_OK;
}

static enum zr_status set_acl(struct zr_sim_outstanding *outstanding, const struct zr_request *copy)
{
    struct zr_sim_acl *acl = NULL;
    enum zr_status status = zr_sim_acl_fix(copy->acl, outstanding->who, &acl);
    if (status == ZR_OK)
        status = add_set_acl(outstanding, copy, acl);
    zr_sim_acl_unref(acl);
    return status;
}

static enum zr_status check(const struct zr_sim_outstanding *outstanding,
                            const struct zr_request *copy)
{
    struct zr_sim_record node;
    if (!zr_sim_outstanding_find(outstanding, copy->path, strlen(copy->path), &node))
        return ZR_NO_NODE;
    if (!allowed(outstanding, &node, ZR_READ))
        return ZR_NO_AUTH;
    return wrong_version(node.version, copy->version) ? ZR_BAD_VERSION : ZR_OK;
}

static enum zr_status prepare_part(struct zr_sim_outstanding *outstanding, struct zr_request *copy)
{
    switch ((int)copy->op) {
    case ZR_OP_CREATE:
        return create(outstanding, copy);
    case ZR_OP_DELETE:
        return remove_node(outstanding, copy);
    case ZR_OP_SET:
        return set(outstanding, copy);
    case ZR_OP_SET_ACL:
        return set_acl(outstanding, copy);
    case ZR_OP_CHECK:
        return check(outstanding, copy);
    default:
        return ZR_UNSUPPORTED;
    }
}

/* ---- The whole ----------------------------------------------------------------------------- */

/* The part that failed keeps its own status; the parts before it and behind it were not done. */
static void refuse(struct zr_sim_outstanding *outstanding, struct zr_request *parts, size_t count,
                   size_t culprit)
{
    zr_sim_txn_clear(outstanding->txn);
    for (size_t i = 0; i < count; i++) {
        zr_sim_release(parts[i].created);
        parts[i].created = NULL;
        if (i != culprit)
            parts[i].status = ZR_CONFLICT;
    }
}

void zr_sim_prepare(struct zr_sim_world *world, struct zr_sim_packet *packet,
                    struct zr_sim_txn *txn)
{
    size_t count;
    struct zr_request *parts = zr_sim_packet_parts(packet, &count);
    struct zr_sim_outstanding outstanding;
    zr_sim_outstanding_init(&outstanding, world, txn, count);
    outstanding.who = packet->conn->who;
    outstanding.session_id = packet->conn->session_id;
    packet->copy.status = ZR_OK;
    for (size_t i = 0; i < count && packet->copy.status == ZR_OK; i++) {
        packet->copy.status = parts[i].status = prepare_part(&outstanding, &parts[i]);
        if (parts[i].status != ZR_OK)
            refuse(&outstanding, parts, count, i);
    }
    zr_sim_outstanding_fini(&outstanding);
}

/* The leader knows the new number now; the tree knows it only after the commit. */
static void announce(struct zr_sim_world *world, const struct zr_sim_change *change)
{
    struct zr_sim_node *parent =
        zr_sim_tree_find(&world->servers[0].tree, change->path, zr_sim_parent_length(change->path));
    if (parent == NULL)
        return;
    parent->announced = change->number;
    parent->announced_until = world->now_us + ZR_SIM_COMMIT_US;
}

void zr_sim_prepared(struct zr_sim_packet *packet, const struct zr_sim_txn *txn)
{
    size_t count, done = 0;
    struct zr_request *parts = zr_sim_packet_parts(packet, &count);
    for (size_t i = 0; i < count && done < txn->count; i++) {
        if (parts[i].op == ZR_OP_CHECK)
            continue;
        const struct zr_sim_change *change = &txn->changes[done++];
        if (change->act == ZR_SIM_CREATE)
            announce(packet->conn->world, change);
        if (parts[i].op == ZR_OP_SET || packet->copy.op == ZR_OP_CREATE)
            parts[i].stat = change->stat;
    }
}
