#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/tree/tree.h"

/*
 * The znodes that the copy follows, as a tree: each node has its children, sorted by name. A node
 * that is no longer kept stays in the table while a reader does not know that its znode is gone
 * (changes.c). If the znode is made again meanwhile, the node is used again.
 *
 * What a session may watch bounds the depth of the tree, so these functions may recurse.
 */

static struct zr_tree_node *at(struct zr_node *node)
{
    return node != NULL ? ZR_HOLDER(node, struct zr_tree_node, in_table) : NULL;
}

struct zr_tree_node *zr_tree_find(const struct zr_tree *tree, const char *path)
{
    return at(zr_table_find(&tree->nodes, path));
}

struct zr_tree_node *zr_tree_node(struct zr_tree *tree, const char *path, size_t length)
{
    struct zr_tree_node *node = zr_alloc(sizeof(*node) + length + 1);
    if (node == NULL)
        return NULL;
    memcpy(node->path, path, length);
    const char *key = zr_path_inside(tree->session->namespace, node->path);
    struct zr_tree_node *known = zr_tree_find(tree, key);
    if (known != NULL || zr_table_add(&tree->nodes, &node->in_table, key) != ZR_OK) {
        zr_free(node);
        return known;
    }
    node->tree = tree;
    node->follower.told = zr_tree_told;
    return node;
}

const char *zr_tree_name(const struct zr_tree_node *node)
{
    return strrchr(node->path, '/') + 1;
}

void zr_tree_node_done(struct zr_tree_node *node)
{
    if (node->kept || node->pins > 0 || zr_linked(&node->entry.link))
        return;
    zr_table_remove(&node->tree->nodes, &node->in_table);
    zr_free(node);
}

/* ---- Keeping and dropping ------------------------------------------------------------------ */

bool zr_tree_is_leaf(const struct zr_tree_node *node)
{
    return node->tree->depth >= 0 && node->depth >= node->tree->depth;
}

void zr_tree_keep(struct zr_tree_node *node, struct zr_tree_node *parent, int64_t since_us)
{
    node->kept = true;
    node->parent = parent;
    node->depth = parent != NULL ? parent->depth + 1 : 0;
    node->doubtful = parent == NULL;
    node->by_exists = node->absent = node->unlisted = false;
    zr_tree_need(node, zr_tree_is_leaf(node) ? ZR_ON_NODE : ZR_ON_NODE | ZR_ON_CHILDREN, since_us);
}

void zr_tree_let_go(struct zr_tree_node *node)
{
    zr_tree_leave(node->tree, &node->get);
    zr_tree_leave(node->tree, &node->list);
    zr_watch_part(&node->follower);
    zr_unlink(&node->in_unsettled);
    zr_unlink(&node->in_queue);
    zr_unlink(&node->in_hidden);
    zr_tree_failed(node, ZR_OK);
    node->needs = 0;
}

void zr_tree_drop_below(struct zr_tree_node *node)
{
    for (size_t i = 0; i < node->kid_count; i++)
        zr_tree_drop(node->kids[i]);
    zr_free(node->kids);
    node->kids = NULL;
    node->kid_count = 0;
}

void zr_tree_drop(struct zr_tree_node *node)
{
    zr_tree_drop_below(node);
    zr_tree_let_go(node);
    zr_tree_hide(node);
    node->kept = false;
    node->parent = NULL;
    zr_tree_node_done(node);
}

/* ---- The list of children ------------------------------------------------------------------ */

/* Puts those in front, sorted, that are left when the filter leaves out what it does, and that a
   sound server says: no name twice, and none that is no name. Returns how many these are. The
   others stay behind them, for other trees. */
static size_t tidy(const struct zr_tree_node *node, struct zr_names *names)
{
    size_t count = 0;
    zr_names_sort(names);
    for (size_t i = 0; i < names->count; i++) {
        char *name = names->at[i];
        bool twice = count > 0 && strcmp(names->at[count - 1], name) == 0;
        bool sound = name[0] != '\0' && strchr(name, '/') == NULL;
        if (twice || !sound || !zr_tree_wants(node, name))
            continue;
        names->at[i] = names->at[count];
        names->at[count++] = name;
    }
    return count;
}

static struct zr_tree_node *child(struct zr_tree_node *node, const char *name)
{
    char *path = zr_path_child(node->path, name);
    struct zr_tree_node *made = path != NULL ? zr_tree_node(node->tree, path, strlen(path)) : NULL;
    zr_free(path);
    return made;
}

/* The nodes of the first `count` names. False: memory is exhausted, and there are none. */
static bool find_all(struct zr_tree_node *node, const struct zr_names *names, size_t count,
                     struct zr_tree_node **kids)
{
    for (size_t i = 0; i < count; i++) {
        if ((kids[i] = child(node, names->at[i])) != NULL)
            continue;
        while (i-- > 0)
            zr_tree_node_done(kids[i]);
        return false;
    }
    return true;
}

/* Both lists are sorted, and a node that is in both is the same. */
static void drop_missing(struct zr_tree_node *node, struct zr_tree_node *const *kids, size_t count)
{
    size_t j = 0;
    for (size_t i = 0; i < node->kid_count; i++) {
        while (j < count && strcmp(kids[j]->path, node->kids[i]->path) < 0)
            j++;
        if (j == count || kids[j] != node->kids[i])
            zr_tree_drop(node->kids[i]);
    }
}

enum zr_status zr_tree_set_kids(struct zr_tree_node *node, struct zr_names *names)
{
    size_t count = tidy(node, names);
    struct zr_tree_node **kids = zr_alloc((count + 1) * sizeof(struct zr_tree_node *));
    if (kids == NULL)
        return ZR_NO_MEMORY;
    if (!find_all(node, names, count, kids)) {
        zr_free(kids);
        return ZR_NO_MEMORY;
    }
    drop_missing(node, kids, count);
    zr_free(node->kids);
    node->kids = kids;
    node->kid_count = count;
    for (size_t i = 0; i < count; i++)
        if (!kids[i]->kept)
            zr_tree_keep(kids[i], node, node->since_us);
    return ZR_OK;
}

/* ---- In order ------------------------------------------------------------------------------ */

/* A parent comes before what is below it, and that before what follows the parent. */
static int by_path(const char *a, const char *b)
{
    while (*a == *b && *a != '\0')
        a++, b++;
    int left = *a == '/' ? 1 : (unsigned char)*a, right = *b == '/' ? 1 : (unsigned char)*b;
    return left - right;
}

/* How many of the children do not come after the path. */
static size_t not_after(const struct zr_tree_node *node, const char *path)
{
    size_t low = 0, high = node->kid_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_path(node->kids[middle]->in_table.key, path) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct zr_tree_node *zr_tree_after(const struct zr_tree *tree, const char *path)
{
    struct zr_tree_node *node = tree->root, *found = NULL;
    if (path == NULL || by_path(node->in_table.key, path) > 0)
        return node;
    while (node != NULL) {
        size_t index = not_after(node, path);
        if (index < node->kid_count)
            found = node->kids[index];
        node = index > 0 ? node->kids[index - 1] : NULL;
    }
    return found;
}
