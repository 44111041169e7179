/*
 * Applying checks nothing: the leader has done that. It does what DataTree does in ZooKeeper 3.8.0,
 * with its oddities: a create raises the parent's counter only if that makes it larger, so the
 * counter stops at 2147483647, and then not even the parent's pzxid changes.
 */
#include "sim/txn.h"

#include <string.h>

#include "sim/packet.h"
#include "sim/world_alloc.h"

struct zr_sim_txn *zr_sim_txn_new(struct zr_sim_packet *packet)
{
    struct zr_sim_txn *txn = zr_sim_alloc(sizeof(*txn));
    if (packet != NULL)
        txn->packet = zr_sim_packet_ref(packet);
    return txn;
}

void zr_sim_txn_clear(struct zr_sim_txn *txn)
{
    for (size_t i = 0; i < txn->count; i++) {
        zr_sim_release(txn->changes[i].path);
        zr_sim_release((char *)txn->changes[i].data.at);
        zr_sim_acl_unref(txn->changes[i].acl);
    }
    txn->count = 0;
}

void zr_sim_txn_free(struct zr_sim_txn *txn)
{
    zr_sim_txn_clear(txn);
    zr_sim_release(txn->changes);
    if (txn->packet != NULL)
        zr_sim_packet_unref(txn->packet);
    zr_sim_release(txn);
}

struct zr_sim_change *zr_sim_txn_add(struct zr_sim_txn *txn, enum zr_sim_act act, const char *path,
                                     size_t length)
{
    if (txn->count == txn->room)
        txn->changes = zr_sim_grow(txn->changes, txn->count, &txn->room, sizeof(*txn->changes));
    struct zr_sim_change *change = &txn->changes[txn->count++];
    *change = (struct zr_sim_change){.act = act, .path = zr_sim_copy(path, length)};
    return change;
}

/* ---- Applying ------------------------------------------------------------------------------ */

static void fire_children(struct zr_sim_watches *watches, const struct zr_sim_node *parent)
{
    zr_sim_watch_fire(watches, parent->path, parent->entry.length, ZR_CHILDREN_CHANGED,
                      parent->acl);
}

static struct zr_stat create(const struct zr_sim_txn *txn, struct zr_sim_change *change,
                             struct zr_sim_tree *tree, struct zr_sim_watches *watches)
{
    struct zr_sim_node *node =
        zr_sim_tree_add(tree, change->path, change->data, change->acl, change->owner);
    struct zr_stat *stat = &node->stat, *parent = &node->parent->stat;
    if (change->number > parent->cversion) {
        parent->cversion = change->number;
        parent->pzxid = txn->zxid;
    }
    stat->czxid = stat->mzxid = stat->pzxid = txn->zxid;
    stat->ctime_ms = stat->mtime_ms = txn->time_ms;
    zr_sim_watch_fire(watches, change->path, node->entry.length, ZR_CREATED, node->acl);
    fire_children(watches, node->parent);
    return zr_sim_node_stat(node);
}

static struct zr_stat remove_node(const struct zr_sim_txn *txn, struct zr_sim_tree *tree,
                                  struct zr_sim_watches *watches, struct zr_sim_node *node,
                                  const char *path)
{
    struct zr_sim_node *parent = node->parent;
    struct zr_sim_acl *acl = zr_sim_acl_ref(node->acl);
    size_t length = node->entry.length;
    parent->stat.pzxid = txn->zxid;
    zr_sim_tree_remove(tree, node);
    zr_sim_watch_fire(watches, path, length, ZR_DELETED, acl);
    fire_children(watches, parent);
    zr_sim_acl_unref(acl);
    return (struct zr_stat){0};
}

static struct zr_stat set(const struct zr_sim_txn *txn, const struct zr_sim_change *change,
                          struct zr_sim_node *node, struct zr_sim_watches *watches)
{
    zr_sim_node_set(node, change->data);
    node->stat.mzxid = txn->zxid;
    node->stat.mtime_ms = txn->time_ms;
    node->stat.version = change->number;
    zr_sim_watch_fire(watches, change->path, node->entry.length, ZR_CHANGED, node->acl);
    return zr_sim_node_stat(node);
}

static struct zr_stat set_acl(const struct zr_sim_change *change, struct zr_sim_node *node)
{
    zr_sim_node_set_acl(node, change->acl);
    node->stat.aversion = change->number;
    return zr_sim_node_stat(node);
}

static struct zr_stat apply(const struct zr_sim_txn *txn, struct zr_sim_change *change,
                            struct zr_sim_tree *tree, struct zr_sim_watches *watches)
{
    if (change->act == ZR_SIM_CREATE)
        return create(txn, change, tree, watches);
    struct zr_sim_node *node = zr_sim_tree_find(tree, change->path, strlen(change->path));
    if (change->act == ZR_SIM_DELETE)
        return remove_node(txn, tree, watches, node, change->path);
    if (change->act == ZR_SIM_SET)
        return set(txn, change, node, watches);
    return set_acl(change, node);
}

void zr_sim_txn_apply(struct zr_sim_txn *txn, struct zr_sim_tree *tree,
                      struct zr_sim_watches *watches)
{
    for (size_t i = 0; i < txn->count; i++)
        txn->changes[i].stat = apply(txn, &txn->changes[i], tree, watches);
}
