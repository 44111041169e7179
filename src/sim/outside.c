/*
 * Changes from outside: as if an administrator wrote to a znode or deleted it, without any of the
 * clients, and at once.
 */
#include <string.h>

#include "sim/leader.h"
#include "sim/world.h"
#include "sim/world_alloc.h"

/* Null too while the leader is down. */
static struct zr_sim_node *find(const struct zr_sim_world *world, const char *path)
{
    if (!zr_sim_server_serves(&world->servers[0]))
        return NULL;
    return zr_sim_tree_find(&world->servers[0].tree, path, strlen(path));
}

bool zr_sim_touch(struct zr_sim_world *world, const char *path)
{
    const struct zr_sim_node *node = find(world, path);
    if (node == NULL)
        return false;
    struct zr_sim_txn *txn = zr_sim_txn_new(NULL);
    struct zr_sim_change *change = zr_sim_txn_add(txn, ZR_SIM_SET, path, strlen(path));
    change->number = (int32_t)((uint32_t)node->stat.version + 1u);
    change->data = node->data;
    if (node->data.at != NULL)
        change->data.at = zr_sim_copy(node->data.at, node->data.length);
    zr_sim_trace(world, "leader: somebody touches %s", path);
    zr_sim_leader_commit(world, txn, true);
    return true;
}

bool zr_sim_remove(struct zr_sim_world *world, const char *path)
{
    const struct zr_sim_node *node = find(world, path);
    if (node == NULL || node->stat.child_count > 0)
        return false;
    struct zr_sim_txn *txn = zr_sim_txn_new(NULL);
    zr_sim_txn_add(txn, ZR_SIM_DELETE, path, strlen(path));
    zr_sim_trace(world, "leader: somebody deletes %s", path);
    zr_sim_leader_commit(world, txn, true);
    return true;
}
