#include "core/alloc.h"
#include "recipes/tree/tree.h"

/*
 * One read for all trees of a session.
 *
 * 1. A node waits for an answer: a get, an exists, or a list of children of its path.
 * 2. If a node of another tree waits for the answer to the same request, both wait for that one.
 *    Such a node follows the same path, so it has joined the same watch. Otherwise a request is
 *    sent.
 * 3. The answer is given to all that wait for it, and to those that would ask for the same next,
 *    one after the other. They share the data.
 *
 * Why a request that is in flight is as good as a new one, whenever it was sent: the engine hands
 * over the answers and events of a session in the order in which its server made them. So an answer
 * that is still to come is of a moment after all that any tree, or the user, was told before: after
 * the event that made this node read again, after the state that it shows, after the user's write.
 * And the watch that the request leaves is as old as the answer: an event of what happens later
 * comes later, and the node follows the path already, so it is told. (A tree relies on the same
 * order if an event comes while its own request is in flight.) Order says nothing of time. What is
 * dated by the time of its reading (asked_us, for znodes of which no event comes) has the date of
 * the request, not that of joining. And a server answers add_auth at once, before the reads that it
 * got earlier, which it judges by the older credentials. So no node joins a read that was sent
 * before the session had all its credentials.
 *
 * All requests are bound to the session's generation, so that an answer of an earlier session never
 * comes after one of a later session.
 *
 * What can go wrong: a tree is closed, or its node dropped: it leaves the read, and the last that
 * leaves it takes the request back. The connection is lost: the request is sent again, for all. The
 * session is lost: it comes back, and all nodes are in their queues again. Memory is exhausted when
 * the answer comes: the nodes rest, each for itself.
 */

static struct zr_tree_share *share_of(struct zr_tree_node *node, enum zr_op op)
{
    return op == ZR_OP_CHILDREN ? &node->list : &node->get;
}

static void free_read(struct zr_tree_read *read)
{
    zr_call_free(read->call);
    zr_tree_state_free(read->state);
    zr_free(read);
}

static void part(struct zr_tree *tree, struct zr_tree_share *share)
{
    zr_unlink(&share->in_read);
    share->read = NULL;
    tree->in_flight--;
    zr_signal_fire(&tree->work, ZR_OK);
}

void zr_tree_leave(struct zr_tree *tree, struct zr_tree_share *share)
{
    struct zr_tree_read *read = share->read;
    if (read == NULL)
        return;
    part(tree, share);
    if (zr_list_empty(&read->shares))
        free_read(read);
}

/* ---- Waiting ------------------------------------------------------------------------------- */

/* It is of this generation of the session, and has all its credentials. */
static bool is_current(const struct zr_tree_read *read)
{
    return !zr_call_stale(read->call) && read->auths == read->call->session->auth_count;
}

/* The first node that waits for it, or null. */
static struct zr_tree_node *first_of(const struct zr_tree_read *read)
{
    struct zr_link *link = zr_list_first(&read->shares);
    if (link == NULL)
        return NULL;
    struct zr_tree_share *share = ZR_HOLDER(link, struct zr_tree_share, in_read);
    return read->call->request.op == ZR_OP_CHILDREN ? ZR_HOLDER(share, struct zr_tree_node, list)
                                                    : ZR_HOLDER(share, struct zr_tree_node, get);
}

/* It needs the answer to this request, and does not wait for one. If it may be gone, it is read
   first, and then its children. */
static bool wants(const struct zr_tree_node *node, enum zr_op op)
{
    bool reads = (node->needs & ZR_ON_NODE) != 0;
    if (op == ZR_OP_CHILDREN)
        return (node->needs & ZR_ON_CHILDREN) != 0 && node->list.read == NULL &&
               !(node->doubtful && reads);
    return reads && node->get.read == NULL && node->by_exists == (op == ZR_OP_EXISTS);
}

/* What is shown is as old as the oldest of the answers that it waits for. */
static void join(struct zr_tree_node *node, struct zr_tree_read *read)
{
    struct zr_tree_share *share = share_of(node, read->call->request.op);
    bool waits = node->get.read != NULL || node->list.read != NULL;
    if ((!waits && !node->by_exists) || read->asked_us < node->asked_us)
        node->asked_us = read->asked_us;
    share->read = read;
    zr_list_append(&read->shares, &share->in_read);
    node->tree->in_flight++;
}

/* The next node of another tree that follows this path, behind this one (null: the first). */
static struct zr_tree_node *next_other(const struct zr_tree_node *node, struct zr_tree_node *last)
{
    struct zr_follower *other = last != NULL ? &last->follower : NULL;
    while ((other = zr_watch_next(node->follower.watch, other)) != NULL)
        if (other->told == zr_tree_told && other != &node->follower)
            return ZR_HOLDER(other, struct zr_tree_node, follower);
    return NULL;
}

/* ---- Answers ------------------------------------------------------------------------------- */

/* The answer is also for the trees that need the same, but have not asked yet. */
static void invite(const struct zr_tree_node *node, struct zr_tree_read *read)
{
    struct zr_tree_node *other = NULL;
    while ((other = next_other(node, other)) != NULL)
        if (wants(other, read->call->request.op))
            join(other, read);
}

static void take(struct zr_tree_node *node, struct zr_tree_read *read)
{
    node->tree->answered = true;
    if (read->call->request.op == ZR_OP_CHILDREN)
        zr_tree_listed(node, &read->call->request);
    else
        zr_tree_got(node, read);
}

/* No request is sent meanwhile: that is done by the tasks, which are only woken. */
static void answered(struct zr_call *call)
{
    struct zr_tree_read *read = call->owner;
    struct zr_tree_node *node;
    bool stale = zr_call_stale(call);
    if (call->request.status == ZR_CONNECTION_LOSS && !stale) {
        zr_call_again(call);
        return;
    }
    if (is_current(read))
        invite(first_of(read), read);
    while ((node = first_of(read)) != NULL) {
        part(node->tree, share_of(node, call->request.op));
        if (stale)
            zr_tree_answered(node);
        else
            take(node, read);
    }
    free_read(read);
}

/* ---- Asking -------------------------------------------------------------------------------- */

/* The request that this node waits for, if it is this one and is current; or null. */
static struct zr_tree_read *read_of(struct zr_tree_node *node, enum zr_op op)
{
    struct zr_tree_read *read = share_of(node, op)->read;
    return read != NULL && read->call->request.op == op && is_current(read) ? read : NULL;
}

/* The read that another tree waits for, or null. */
static struct zr_tree_read *find(const struct zr_tree_node *node, enum zr_op op)
{
    struct zr_tree_read *read = NULL;
    struct zr_tree_node *other = NULL;
    while (read == NULL && (other = next_other(node, other)) != NULL)
        read = read_of(other, op);
    return read;
}

static enum zr_status send(struct zr_tree_node *node, enum zr_op op, struct zr_tree_read **made)
{
    struct zr_session *session = node->tree->session;
    struct zr_tree_read *read = zr_alloc(sizeof(*read));
    if (read == NULL)
        return ZR_NO_MEMORY;
    enum zr_status status = zr_call_new_full(session, op, node->path, ZR_NO_DATA, &read->call);
    if (status != ZR_OK) {
        zr_free(read);
        return status;
    }
    zr_list_init(&read->shares);
    read->asked_us = zr_engine_now_us(session->engine);
    read->auths = session->auth_count;
    read->call->bound = read->call->request.watch = true;
    read->call->generation = session->generation;
    zr_call_start(read->call, answered, read);
    *made = read;
    return ZR_OK;
}

enum zr_status zr_tree_ask(struct zr_tree_node *node, enum zr_op op)
{
    if (!wants(node, op))
        return ZR_OK;
    struct zr_tree_read *read = find(node, op);
    enum zr_status status = read == NULL ? send(node, op, &read) : ZR_OK;
    if (status == ZR_OK)
        join(node, read);
    return status;
}
