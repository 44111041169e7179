#include "core/alloc.h"
#include "recipes/tree/tree.h"

/*
 * What the answers mean.
 *
 *   get       found: it is shown          no znode: it is gone, with all below it
 *   exists    found: shown without data   no znode: as above; the root is awaited by this watch
 *   children  found: new ones are read    no znode: it is read again
 *
 * A get leaves no watch if there is no znode, or if it may not be read. Then the root, or the znode
 * that may not be read, is asked for by exists.
 */

/* Anything else than an answer about the znode: memory was exhausted, or the server is unwell. */
static void again_later(struct zr_tree_node *node, enum zr_status status)
{
    zr_tree_rest(node, status);
    zr_tree_answered(node);
}

/* The root may come back. The parent of any other znode lists it if it does. exists: so says an
   answer that has left a watch. */
static void gone(struct zr_tree_node *node, bool exists)
{
    struct zr_tree *tree = node->tree;
    if (node->parent != NULL) {
        struct zr_tree_node *parent = node->parent;
        size_t i = 0;
        while (parent->kids[i] != node)
            i++;
        for (parent->kid_count--; i < parent->kid_count; i++)
            parent->kids[i] = parent->kids[i + 1];
        zr_tree_drop(node);
        zr_tree_settle(tree);
        return;
    }
    zr_tree_drop_below(node);
    zr_tree_hide(node);
    zr_tree_leave(tree, &node->list);
    node->unlisted = false;
    node->needs = exists ? 0 : ZR_ON_NODE;
    node->by_exists = node->doubtful = node->absent = true;
    zr_tree_hidden(node, false);
    zr_tree_answered(node);
}

/* The znode is there, whether it may be read or not. */
static void is_there(struct zr_tree_node *node)
{
    if (node->absent && node->tree->depth != 0)
        node->needs |= ZR_ON_CHILDREN;
    node->doubtful = node->absent = false;
}

/* What the read has found, counted for the caller. All trees that waited for it share this; so data
   are copied for none. Null: memory is exhausted. */
static struct zr_tree_state *state_of(struct zr_tree_read *read)
{
    struct zr_request *request = &read->call->request;
    struct zr_tree_state *state = read->state;
    if (state == NULL) {
        state = read->state = zr_alloc(sizeof(*state));
        if (state == NULL)
            return NULL;
        bool refused = request->op == ZR_OP_EXISTS;
        *state = (struct zr_tree_state){1, refused, request->stat, request->data_reply};
        request->data_reply = ZR_NO_DATA;
    }
    state->refs++;
    return state;
}

static void found(struct zr_tree_node *node, struct zr_tree_read *read)
{
    struct zr_tree_state *state = state_of(read);
    if (state == NULL) {
        again_later(node, ZR_NO_MEMORY);
        return;
    }
    node->needs &= ~(unsigned)ZR_ON_NODE;
    is_there(node);
    zr_tree_show(node, state);
    zr_tree_hidden(node, state->refused || node->unlisted);
    zr_tree_answered(node);
}

static void ask_by(struct zr_tree_node *node, bool exists)
{
    node->by_exists = exists;
    zr_tree_answered(node);
}

/* That it may not be read proves that it is there. */
static void refused(struct zr_tree_node *node)
{
    is_there(node);
    ask_by(node, true);
}

/* What exists has found may be shown only if nothing has changed since get was refused: by now the
   znode may be readable. */
void zr_tree_got(struct zr_tree_node *node, struct zr_tree_read *read)
{
    enum zr_status status = read->call->request.status;
    bool exists = read->call->request.op == ZR_OP_EXISTS;
    if (status == ZR_NO_NODE)
        gone(node, exists);
    else if (status == ZR_NO_AUTH && !exists)
        refused(node);
    else if (status != ZR_OK)
        again_later(node, status);
    else if (exists && (node->absent || !node->by_exists))
        ask_by(node, false);
    else
        found(node, read);
}

/* What is shown says how many children there are. */
static void refresh(struct zr_tree_node *node, const struct zr_stat *stat)
{
    struct zr_tree_state *state = node->state;
    if (state != NULL && state->stat.czxid == stat->czxid && state->stat.mzxid == stat->mzxid)
        state->stat = *stat;
}

static void not_listed(struct zr_tree_node *node, bool refused)
{
    node->unlisted = refused;
    if (refused)
        node->needs &= ~(unsigned)ZR_ON_CHILDREN;
    else
        node->needs |= ZR_ON_NODE;
    node->doubtful = !refused;
    if (refused) {
        zr_tree_drop_below(node);
        zr_tree_hidden(node, true);
    }
    zr_tree_answered(node);
}

void zr_tree_listed(struct zr_tree_node *node, struct zr_request *request)
{
    enum zr_status status = request->status;
    if (status == ZR_NO_NODE || status == ZR_NO_AUTH) {
        not_listed(node, status == ZR_NO_AUTH);
        return;
    }
    if (status == ZR_OK)
        status = zr_tree_set_kids(node, request->names);
    if (status != ZR_OK) {
        again_later(node, status);
        return;
    }
    node->unlisted = false;
    node->needs &= ~(unsigned)ZR_ON_CHILDREN;
    zr_tree_hidden(node, node->state != NULL && node->state->refused);
    refresh(node, &request->stat);
    zr_tree_answered(node);
}
