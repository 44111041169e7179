/*
 * A hash of all paths, and lists of children. The real server keeps the names of children in a hash
 * set, so its lists have no order. Here each child goes to one end of the list or to the other, by
 * its hash, so that no client can rely on an order either.
 */
#include "sim/tree.h"

#include <string.h>

#include "sim/world_alloc.h"

static struct zr_bytes copy_data(struct zr_bytes data)
{
    if (data.at != NULL)
        data.at = zr_sim_copy(data.at, data.length);
    return data;
}

static struct zr_sim_node *node_new(const char *path, struct zr_bytes data, struct zr_sim_acl *acl,
                                    int64_t owner)
{
    size_t length = strlen(path);
    struct zr_sim_node *node = zr_sim_alloc(sizeof(*node) + length + 1);
    memcpy(node->path, path, length + 1);
    zr_list_init(&node->children);
    node->data = copy_data(data);
    node->acl = zr_sim_acl_ref(acl);
    node->stat.ephemeral_owner = owner;
    return node;
}

static void drop(struct zr_sim_entry *entry)
{
    struct zr_sim_node *node = (struct zr_sim_node *)entry;
    zr_sim_release((char *)node->data.at);
    zr_sim_acl_unref(node->acl);
    zr_sim_release(node);
}

void zr_sim_tree_init(struct zr_sim_tree *tree)
{
    const struct zr_bytes empty = {"", 0};
    struct zr_sim_acl *open = zr_sim_acl_one(31, "world", "anyone");
    struct zr_sim_acl *readable = zr_sim_acl_one(ZR_READ, "world", "anyone");
    *tree = (struct zr_sim_tree){0};
    zr_list_init(&tree->specials);
    tree->root = node_new("/", empty, open, 0);
    zr_sim_index_add(&tree->nodes, &tree->root->entry, tree->root->path, 1);
    zr_sim_tree_add(tree, "/zookeeper", empty, open, 0);
    zr_sim_tree_add(tree, "/zookeeper/quota", empty, open, 0);
    zr_sim_tree_add(tree, "/zookeeper/config", empty, readable, 0)->stat.aversion = -1;
    zr_sim_acl_unref(open);
    zr_sim_acl_unref(readable);
}

void zr_sim_tree_fini(struct zr_sim_tree *tree)
{
    zr_sim_index_fini(&tree->nodes, drop);
}

struct zr_sim_node *zr_sim_tree_find(const struct zr_sim_tree *tree, const char *path,
                                     size_t length)
{
    if (length == 0)
        return tree->root;
    return (struct zr_sim_node *)zr_sim_index_find(&tree->nodes, path, length);
}

size_t zr_sim_parent_length(const char *path)
{
    return (size_t)(strrchr(path, '/') - path);
}

struct zr_sim_node *zr_sim_tree_add(struct zr_sim_tree *tree, const char *path,
                                    struct zr_bytes data, struct zr_sim_acl *acl, int64_t owner)
{
    struct zr_sim_node *node = node_new(path, data, acl, owner);
    node->parent = zr_sim_tree_find(tree, path, zr_sim_parent_length(path));
    zr_sim_index_add(&tree->nodes, &node->entry, node->path, strlen(path));
    zr_list_append(&node->parent->children, &node->sibling);
    if (node->entry.hash & 16) {
        zr_unlink(&node->sibling);
        struct zr_list rest;
        zr_list_init(&rest);
        zr_list_move(&rest, &node->parent->children);
        zr_list_append(&node->parent->children, &node->sibling);
        zr_list_move(&node->parent->children, &rest);
    }
    node->parent->stat.child_count++;
    if (owner != 0)
        zr_list_append(&tree->specials, &node->special);
    tree->changes++;
    return node;
}

void zr_sim_tree_remove(struct zr_sim_tree *tree, struct zr_sim_node *node)
{
    node->parent->stat.child_count--;
    zr_unlink(&node->sibling);
    zr_unlink(&node->special);
    zr_sim_index_remove(&tree->nodes, &node->entry);
    drop(&node->entry);
    tree->changes++;
}

void zr_sim_node_set(struct zr_sim_node *node, struct zr_bytes data)
{
    zr_sim_release((char *)node->data.at);
    node->data = copy_data(data);
}

void zr_sim_node_set_acl(struct zr_sim_node *node, struct zr_sim_acl *acl)
{
    zr_sim_acl_ref(acl);
    zr_sim_acl_unref(node->acl);
    node->acl = acl;
}

struct zr_stat zr_sim_node_stat(const struct zr_sim_node *node)
{
    struct zr_stat stat = node->stat;
    /* The tree stores the number of creates; clients see the number of changes, which wraps like
       Java's. */
    stat.cversion = (int32_t)((uint32_t)stat.cversion * 2u - (uint32_t)stat.child_count);
    stat.data_length = (int32_t)node->data.length;
    if (!zr_sim_is_ephemeral(stat.ephemeral_owner))
        stat.ephemeral_owner = 0;
    return stat;
}
