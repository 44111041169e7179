#include <math.h>

#include "core/alloc.h"
#include "recipes/tree/tree.h"

/*
 * What is shown, and how old it is.
 *
 * Each change moves its node to the end of the log, where every reader finds it behind its
 * position (changes.c). So the log has each znode at most once, however often it changes.
 *
 * The copy is proven up to the proof of the session (session_proof.c), as long as nothing is to be
 * read again. An event says that something must be read again: then it is proven only up to the
 * proof that came with that event, until the answer is here. What may not be read is proven only up
 * to the last look.
 */

/* The copy counts as current while the last proof is not older than this part of the timeout, that
   is, while not more than two or three heartbeats in a row are without an answer. */
#define FRESH 4

void zr_tree_fire(struct zr_tree *tree)
{
    zr_signal_fire(&tree->news, ZR_OK);
}

void zr_tree_state_free(struct zr_tree_state *state)
{
    if (state == NULL || --state->refs > 0)
        return;
    zr_free((char *)state->data.at);
    zr_free(state);
}

bool zr_tree_same_znode(const struct zr_tree_state *a, const struct zr_tree_state *b)
{
    return a->stat.czxid == b->stat.czxid && a->stat.ctime_ms == b->stat.ctime_ms;
}

bool zr_tree_same(const struct zr_tree_state *a, const struct zr_tree_state *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return zr_tree_same_znode(a, b) && a->stat.mzxid == b->stat.mzxid &&
           a->stat.mtime_ms == b->stat.mtime_ms && a->refused == b->refused;
}

static void changed(struct zr_tree_node *node)
{
    zr_unlink(&node->entry.link);
    if (node->state != NULL || zr_tree_is_told(node))
        zr_list_append(&node->tree->log, &node->entry.link);
    node->tree->changes++;
    zr_tree_fire(node->tree);
}

void zr_tree_show(struct zr_tree_node *node, struct zr_tree_state *state)
{
    bool same = zr_tree_same(node->state, state);
    node->tree->shown += node->state == NULL;
    zr_tree_state_free(node->state);
    node->state = state;
    if (!same)
        changed(node);
}

void zr_tree_hide(struct zr_tree_node *node)
{
    if (node->state == NULL)
        return;
    zr_tree_state_free(node->state);
    node->state = NULL;
    node->tree->shown--;
    changed(node);
}

/* ---- Its age ------------------------------------------------------------------------------- */

/* The oldest proof of what is to be read again; INT64_MAX: nothing is. */
static int64_t settled_us(const struct zr_tree *tree)
{
    const struct zr_link *first = zr_list_first(&tree->unsettled);
    if (first == NULL)
        return INT64_MAX;
    return ZR_HOLDER(first, struct zr_tree_node, in_unsettled)->since_us;
}

int64_t zr_tree_proof_us(struct zr_tree *tree)
{
    if (!tree->loaded)
        return ZR_TREE_NEVER;
    int64_t proof_us = tree->running ? zr_session_proof_us(tree->session) : tree->proof_us;
    int64_t settled = settled_us(tree);
    if (tree->from_file && tree->running)
        return settled; /* the session may have no proof yet, and the file has one */
    if (!zr_list_empty(&tree->hidden) && tree->looked_us < proof_us)
        proof_us = tree->looked_us;
    return settled < proof_us ? settled : proof_us;
}

/* INT64_MAX: there is no proof. */
static int64_t proof_age_us(struct zr_tree *tree)
{
    int64_t proof_us = zr_tree_proof_us(tree);
    if (proof_us == ZR_TREE_NEVER)
        return INT64_MAX;
    return zr_engine_now_us(tree->session->engine) - proof_us;
}

enum zr_status zr_tree_proof_age(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    int64_t age_us = proof_age_us((struct zr_tree *)self);
    (void)args;
    if (age_us == INT64_MAX)
        sink->nothing(sink, NULL);
    else
        sink->number(sink, NULL, (double)age_us / 1e6);
    return ZR_OK;
}

enum zr_status zr_tree_age(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    struct zr_tree *tree = (struct zr_tree *)self;
    struct zr_session *session = tree->session;
    (void)args;
    int64_t age_us = proof_age_us(tree);
    bool fresh = tree->running && session->state == ZR_CONNECTED &&
                 zr_list_empty(&tree->unsettled) && zr_list_empty(&tree->hidden) &&
                 !zr_session_has_waiting(session) &&
                 age_us <= (int64_t)session->timeout_ms * 1000 / FRESH;
    if (age_us == INT64_MAX)
        sink->number(sink, NULL, (double)INFINITY);
    else
        sink->number(sink, NULL, fresh ? 0 : (double)age_us / 1e6);
    return ZR_OK;
}
