#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/tree/tree.h"

/*
 * What is to be read. Each node says what must be read of it (`needs`), and is in the queue until
 * that was asked for. One task asks for what is in the queue (read.c), a few at a time, and sleeps
 * while nothing can be asked for.
 *
 * What can go wrong: too much is watched, or memory is exhausted, or
 * the server refuses to answer: the node rests for a while. The server sends no event to a client
 * that may not read the znode, and uses the watch up: what may not be read is read again each
 * minute. (For a root that is not there the session asks: core/watch_absent.c.)
 */

/* Answers that a tree waits for: enough to keep a server busy; few enough for heartbeats not to
   wait for long behind the answers. */
#define WINDOW 64

#define REST_US 1000000

/* No event may come, so a look now and then; few enough requests not to matter. */
#define LOOK_US 60000000

static struct zr_tree *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_tree, task);
}

/* ---- What must be read --------------------------------------------------------------------- */

/* Most come with a proof that is not older than the last one's. */
static void insert(struct zr_tree *tree, struct zr_tree_node *node)
{
    struct zr_link *ahead = tree->unsettled.head.prev, *link = &node->in_unsettled;
    while (ahead != &tree->unsettled.head &&
           ZR_HOLDER(ahead, struct zr_tree_node, in_unsettled)->since_us > node->since_us)
        ahead = ahead->prev;
    link->prev = ahead;
    link->next = ahead->next;
    ahead->next->prev = link;
    ahead->next = link;
}

static void queue(struct zr_tree_node *node)
{
    if (zr_linked(&node->in_queue))
        return;
    zr_list_append(&node->tree->queue, &node->in_queue);
    zr_signal_fire(&node->tree->work, ZR_OK);
}

static enum zr_status follow(struct zr_tree_node *node)
{
    if (node->follower.watch != NULL)
        return ZR_OK;
    return zr_watch_join(node->tree->session, node->path, zr_tree_is_leaf(node) ? 1 : 2,
                         ZR_WATCHED_BYTES_COMMON, &node->follower);
}

/* It follows its path at once, so that it is found if another tree gets the answer first. If that
   fails, it is tried again before it asks. */
void zr_tree_need(struct zr_tree_node *node, unsigned needs, int64_t since_us)
{
    (void)follow(node);
    node->needs |= needs;
    if (!zr_linked(&node->in_unsettled)) {
        node->since_us = since_us;
        insert(node->tree, node);
    }
    queue(node);
}

/* The proof is that of the event that is being handled. After the end of the session a node that
   was there most likely still is; and after an event that has used up both watches it is gone. */
void zr_tree_told(struct zr_follower *follower, unsigned used_up)
{
    struct zr_tree_node *node = ZR_HOLDER(follower, struct zr_tree_node, follower);
    struct zr_tree *tree = node->tree;
    bool leaf = zr_tree_is_leaf(node);
    bool over = tree->session->state != ZR_CONNECTED;
    unsigned needs = leaf ? used_up & ZR_ON_NODE : used_up;
    if ((needs & ZR_ON_NODE) != 0 && zr_linked(&node->in_hidden) && !leaf)
        needs |= ZR_ON_CHILDREN;
    if (needs == 0)
        return;
    node->doubtful = needs == (ZR_ON_NODE | ZR_ON_CHILDREN) && (!over || node->parent == NULL);
    node->by_exists = false;
    tree->answered &= !over;
    zr_tree_need(node, needs, tree->session->proof_us);
}

static void rested(struct zr_timer *timer)
{
    struct zr_tree *tree = ZR_HOLDER(timer, struct zr_tree, rest);
    zr_list_move(&tree->queue, &tree->resting);
    zr_signal_fire(&tree->work, ZR_OK);
}

/* ---- What may change without an event ------------------------------------------------------ */

static void looked(struct zr_timer *timer)
{
    struct zr_tree *tree = ZR_HOLDER(timer, struct zr_tree, look);
    int64_t proof_us = zr_tree_proof_us(tree);
    ZR_LIST_EACH (link, &tree->hidden) {
        struct zr_tree_node *node = ZR_HOLDER(link, struct zr_tree_node, in_hidden);
        node->by_exists = false;
        zr_tree_need(node, zr_tree_is_leaf(node) ? ZR_ON_NODE : ZR_ON_NODE | ZR_ON_CHILDREN,
                     proof_us);
    }
    tree->looked_us = zr_engine_now_us(tree->session->engine);
}

void zr_tree_hidden(struct zr_tree_node *node, bool hidden)
{
    struct zr_tree *tree = node->tree;
    struct zr_engine *engine = tree->session->engine;
    if (hidden && (zr_list_empty(&tree->hidden) || node->asked_us < tree->looked_us))
        tree->looked_us = node->asked_us;
    if (!hidden)
        zr_unlink(&node->in_hidden);
    else if (!zr_linked(&node->in_hidden))
        zr_list_append(&tree->hidden, &node->in_hidden);
    if (hidden && tree->look.fire == NULL)
        zr_timer_start(&engine->timers, &tree->look, zr_engine_now_us(engine) + LOOK_US, looked);
}

/* ---- What could not be read ---------------------------------------------------------------- */

static bool is_other(enum zr_status why)
{
    return why != ZR_OK && why != ZR_FULL;
}

void zr_tree_failed(struct zr_tree_node *node, enum zr_status why)
{
    struct zr_tree *tree = node->tree;
    if (is_other(why))
        tree->failure = why;
    tree->full += (why == ZR_FULL) - (node->failed == ZR_FULL);
    tree->failing += is_other(why) - is_other(node->failed);
    node->failed = why;
    tree->problem = tree->full > 0 ? ZR_FULL : tree->failing > 0 ? tree->failure : ZR_OK;
}

void zr_tree_rest(struct zr_tree_node *node, enum zr_status why)
{
    struct zr_tree *tree = node->tree;
    struct zr_engine *engine = tree->session->engine;
    zr_unlink(&node->in_queue);
    zr_list_append(&tree->resting, &node->in_queue);
    if (tree->rest.fire == NULL)
        zr_timer_start(&engine->timers, &tree->rest, zr_engine_now_us(engine) + REST_US, rested);
    zr_tree_failed(node, why);
    zr_tree_fire(tree);
}

/* ---- Answers ------------------------------------------------------------------------------- */

void zr_tree_answered(struct zr_tree_node *node)
{
    if (node->needs == 0) {
        zr_unlink(&node->in_unsettled);
        zr_tree_failed(node, ZR_OK);
    } else {
        queue(node);
    }
    zr_tree_settle(node->tree);
}

void zr_tree_settle(struct zr_tree *tree)
{
    if (!zr_list_empty(&tree->unsettled) || (tree->loaded && !tree->from_file))
        return;
    tree->loaded = true;
    tree->from_file = false;
    tree->changes++; /* `source` is another one */
    zr_tree_fire(tree);
}

/* ---- Asking -------------------------------------------------------------------------------- */

static enum zr_status ask(struct zr_tree_node *node)
{
    enum zr_status status = follow(node);
    if (status == ZR_OK)
        status = zr_tree_ask(node, node->by_exists ? ZR_OP_EXISTS : ZR_OP_GET);
    if (status == ZR_OK)
        status = zr_tree_ask(node, ZR_OP_CHILDREN);
    return status;
}

void zr_tree_load(struct zr_task *task)
{
    struct zr_tree *tree = of(task);
    struct zr_link *link;
    while (tree->in_flight < WINDOW && (link = zr_list_shift(&tree->queue)) != NULL) {
        struct zr_tree_node *node = ZR_HOLDER(link, struct zr_tree_node, in_queue);
        enum zr_status status = ask(node);
        if (status != ZR_OK)
            zr_tree_rest(node, status);
    }
    zr_verb_await(task, &tree->work, ZR_STEP(zr_tree_load));
}
