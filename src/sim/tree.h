#ifndef ZR_SIM_TREE_H
#define ZR_SIM_TREE_H

/* tree.h: the znodes of one server. */

#include "core/list.h"
#include "sim/acl.h"
#include "sim/index.h"

/* The owner of a znode also tells its kind, as in the server's snapshots. */
#define ZR_SIM_CONTAINER_OWNER INT64_MIN
#define ZR_SIM_TTL_MASK ((int64_t)0xff00000000000000u)
#define ZR_SIM_TTL_MAX INT64_C(0xffffffffff)

struct zr_sim_node {
    struct zr_sim_entry entry; /* first member; its key is the path */
    struct zr_sim_node *parent;
    struct zr_list children;
    struct zr_link sibling; /* in the parent's children */
    struct zr_link special; /* in the tree's specials, when the owner is not 0 */
    struct zr_bytes data;   /* null or empty or the tree's own block */
    struct zr_sim_acl *acl; /* counted */
    struct zr_stat stat;    /* as stored: cversion counts creates, ephemeral_owner tells the kind */
    int32_t announced;      /* the leader's: cversion with creates that are not yet committed ... */
    int64_t announced_until; /* ... up to this time */
    char path[];
};

struct zr_sim_tree {
    struct zr_sim_index nodes;
    struct zr_list specials; /* ephemeral, container and TTL znodes, oldest first */
    struct zr_sim_node *root;
    int64_t changes; /* znodes added and removed */
};

/* Makes the tree of a new server: the root, and /zookeeper with what belongs there. */
void zr_sim_tree_init(struct zr_sim_tree *tree);
void zr_sim_tree_fini(struct zr_sim_tree *tree);

/* The znode, or null; the empty path is the root too. */
struct zr_sim_node *zr_sim_tree_find(const struct zr_sim_tree *tree, const char *path,
                                     size_t length);

/* Length of the parent's path: 0 for the root. The path has a slash. */
size_t zr_sim_parent_length(const char *path);

/* Adds a znode under its parent, which exists. keeps: a reference of acl. borrows: the rest. */
struct zr_sim_node *zr_sim_tree_add(struct zr_sim_tree *tree, const char *path,
                                    struct zr_bytes data, struct zr_sim_acl *acl, int64_t owner);

/* takes: node, which has no children. */
void zr_sim_tree_remove(struct zr_sim_tree *tree, struct zr_sim_node *node);

/* borrows: data. */
void zr_sim_node_set(struct zr_sim_node *node, struct zr_bytes data);

/* keeps: a reference of acl. */
void zr_sim_node_set_acl(struct zr_sim_node *node, struct zr_sim_acl *acl);

/* The stat as a client gets it. */
struct zr_stat zr_sim_node_stat(const struct zr_sim_node *node);

/* The children in the order of the server, which is arbitrary because the server hashes them. */
static inline struct zr_sim_node *zr_sim_next_child(const struct zr_sim_node *node,
                                                    const struct zr_sim_node *after)
{
    struct zr_link *next = after == NULL ? node->children.head.next : after->sibling.next;
    return next == &node->children.head ? NULL : ZR_HOLDER(next, struct zr_sim_node, sibling);
}

/* ---- Owners -------------------------------------------------------------------------------- */

static inline bool zr_sim_is_ttl(int64_t owner)
{
    return (owner & ZR_SIM_TTL_MASK) == ZR_SIM_TTL_MASK;
}

static inline bool zr_sim_is_ephemeral(int64_t owner)
{
    return owner != 0 && owner != ZR_SIM_CONTAINER_OWNER && !zr_sim_is_ttl(owner);
}

#endif
