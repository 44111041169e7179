#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/tree/tree.h"

/*
 * session:tree(path): a watched copy of a znode and all below it. Reading the copy asks no server.
 *
 * 1. Read the root, leaving a watch on it; then list its children, leaving a watch on the list.
 * 2. Do the same with each child, many at a time (load.c). What was read is shown (answer.c,
 *    picture.c). When nothing is left to be read, the copy is loaded.
 * 3. An event says what must be read again: a znode, or its list of children. New children are as
 *    in 2; those that are missing are hidden, with all below them.
 * 4. Readers are told of each difference (changes.c).
 *
 * A copy that begins with what a file says (pack.c) shows that, and reads it again as after 2.
 *
 * What can go wrong: the connection is lost: the client sets the watches again, and the server
 * sends the events that were missed. What is shown stays, and is as old as the last proof
 * (picture.c). The session is lost: all is read again. The root does not exist, or is deleted: a
 * watch waits for it. The watches of the session are used up, or memory is exhausted: what could
 * not be followed is not shown, and is tried again each second.
 *
 * No answer is older than what is shown. In one session that is ZooKeeper's promise. A new session
 * is a transaction, and its server answers the handshake when it has applied that one, and so all
 * that any server had shown before.
 *
 * The algorithm is that of Curator's TreeCache; what is told of the age, and the bound on what a
 * slow reader costs, are ours.
 */

static struct zr_tree *of(struct zr_object *self)
{
    return (struct zr_tree *)self;
}

/* ---- Its end ------------------------------------------------------------------------------- */

static void each_node(struct zr_tree *tree, void (*visit)(struct zr_tree_node *node))
{
    for (size_t i = 0; i < tree->nodes.size; i++)
        for (struct zr_node *node = tree->nodes.buckets[i], *after; node != NULL; node = after) {
            after = node->next;
            visit(ZR_HOLDER(node, struct zr_tree_node, in_table));
        }
}

/* The session is closed, or the user has closed the tree. What is shown stays. */
static void stopped(struct zr_task *task)
{
    struct zr_tree *tree = ZR_HOLDER(task, struct zr_tree, task);
    tree->proof_us = zr_tree_proof_us(tree);
    tree->running = false;
    tree->ended = task->status;
    zr_timer_stop(&tree->session->engine->timers, &tree->rest);
    zr_timer_stop(&tree->session->engine->timers, &tree->look);
    each_node(tree, zr_tree_let_go);
    zr_tree_fire(tree);
    zr_object_unref(&tree->object);
}

static const struct zr_task_kind load_kind = {.name = "tree", .free = stopped};

static void close_tree(struct zr_object *self)
{
    struct zr_tree *tree = of(self);
    if (tree->closed || zr_engine_forked(tree->session->engine))
        return;
    tree->closed = true;
    zr_tree_fire(tree);
    if (tree->running)
        zr_task_interrupt(&tree->task, ZR_CANCELED);
}

static enum zr_status call_close(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    (void)args;
    close_tree(self);
    sink->boolean(sink, NULL, true);
    return ZR_OK;
}

static void free_node(struct zr_tree_node *node)
{
    zr_tree_state_free(node->state);
    zr_free(node->kids);
    zr_free(node);
}

static void free_tree(struct zr_object *self)
{
    struct zr_tree *tree = of(self);
    struct zr_session *session = tree->session;
    zr_tree_state_free(tree->read);
    zr_free(tree->packed);
    each_node(tree, free_node);
    zr_table_fini(&tree->nodes);
    zr_free(tree->path);
    zr_free(tree->filter);
    zr_free(tree);
    zr_session_unuse(session);
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* What a finalizer does while this is emitted cannot free it. */
static void emit_state(struct zr_tree *tree, struct zr_tree_state *state, struct zr_sink *sink)
{
    state->refs++;
    zr_tree_state_free(tree->read);
    tree->read = state;
    sink->bytes(sink, NULL, state->data);
    zr_emit_stat(sink, NULL, &state->stat);
    if (state->refused)
        zr_emit_string(sink, NULL, zr_status_word(ZR_NO_AUTH));
}

/* The node that an optional path names; without one, the root. Null: there is none that is shown.
 */
static struct zr_tree_node *named(const struct zr_tree *tree, const struct zr_args *args)
{
    const char *path = args->at[0].bytes.at;
    struct zr_tree_node *node = path != NULL ? zr_tree_find(tree, path) : tree->root;
    return node != NULL && node->state != NULL ? node : NULL;
}

static enum zr_status call_get(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    const struct zr_tree_node *node = named(of(self), args);
    if (node == NULL)
        sink->nothing(sink, NULL);
    else
        emit_state(of(self), node->state, sink);
    return ZR_OK;
}

static enum zr_status call_children(struct zr_object *self, struct zr_args *args,
                                    struct zr_sink *sink)
{
    const struct zr_tree_node *node = named(of(self), args);
    if (node == NULL) {
        sink->nothing(sink, NULL);
        return ZR_OK;
    }
    sink->begin(sink, NULL);
    for (size_t i = 0; i < node->kid_count; i++)
        if (node->kids[i]->state != NULL)
            zr_emit_string(sink, NULL, zr_tree_name(node->kids[i]));
    sink->end(sink);
    return ZR_OK;
}

/* tree:after([path]): path, data and stat of the next znode, or nil; for pairs. */
static enum zr_status call_after(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    const struct zr_tree *tree = of(self);
    const char *path = args->at[0].bytes.at;
    const struct zr_tree_node *node = zr_tree_after(tree, path);
    while (node != NULL && node->state == NULL)
        node = zr_tree_after(tree, node->in_table.key);
    if (node == NULL) {
        sink->nothing(sink, NULL);
        return ZR_OK;
    }
    struct zr_tree_state *state = node->state;
    zr_emit_string(sink, NULL, node->in_table.key);
    emit_state(of(self), state, sink);
    return ZR_OK;
}

/* tree:count(): for await; see tree:changed. */
static enum zr_status call_count(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    (void)args;
    sink->integer(sink, NULL, of(self)->changes & INT32_MAX);
    return ZR_OK;
}

/* tree:size(): how many znodes are shown. */
static enum zr_status call_size(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    (void)args;
    sink->integer(sink, NULL, (int64_t)of(self)->shown);
    return ZR_OK;
}

/* tree:follows(): false if the copy will never change again. */
static enum zr_status call_follows(struct zr_object *self, struct zr_args *args,
                                   struct zr_sink *sink)
{
    (void)args;
    const struct zr_tree *tree = of(self);
    bool over = tree->closed || !tree->running || zr_engine_forked(tree->session->engine);
    sink->boolean(sink, NULL, !over);
    return ZR_OK;
}

static void get_path(struct zr_object *self, struct zr_sink *sink)
{
    zr_emit_string(sink, NULL, of(self)->path);
}

static void get_source(struct zr_object *self, struct zr_sink *sink)
{
    const struct zr_tree *tree = of(self);
    if (tree->loaded)
        zr_emit_string(sink, NULL, tree->from_file ? "file" : "server");
    else
        sink->nothing(sink, NULL);
}

static void get_problem(struct zr_object *self, struct zr_sink *sink)
{
    enum zr_status problem = of(self)->problem;
    if (problem == ZR_OK)
        sink->nothing(sink, NULL);
    else
        zr_emit_string(sink, NULL, zr_status_word(problem));
}

/* ---- The class ----------------------------------------------------------------------------- */

static const struct zr_method methods[] = {
    {.name = "get", .args = "p?", .call = call_get},
    {.name = "children", .args = "p?", .call = call_children},
    {.name = "age", .args = "", .call = zr_tree_age},
    {.name = "after", .args = "p?", .call = call_after, .inner = true},
    {.name = "count", .args = "", .call = call_count, .inner = true},
    {.name = "size", .args = "", .call = call_size, .inner = true},
    {.name = "proof_age", .args = "", .call = zr_tree_proof_age, .inner = true},
    {.name = "pack", .args = "", .call = zr_tree_pack, .inner = true},
    {.name = "restore", .args = "dt?", .call = zr_tree_restore, .inner = true},
    {.name = "follows", .args = "", .call = call_follows, .inner = true},
    {.name = "changed", .args = "it?", .start = zr_tree_changed, .inner = true},
    {.name = "ready", .args = "t?", .start = zr_tree_ready},
    {.name = "changes", .args = "", .make = zr_tree_changes},
    {.name = "close", .args = "", .call = call_close},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", get_path}, {"problem", get_problem}, {"source", get_source}, {NULL, NULL}};

const struct zr_class zr_tree_class = {"tree", methods, properties, close_tree, free_tree};

/* ---- Making -------------------------------------------------------------------------------- */

static void init(struct zr_tree *tree, struct zr_session *session)
{
    tree->object = (struct zr_object){&zr_tree_class, 1};
    tree->session = session;
    zr_session_use(session);
    zr_list_init(&tree->queue);
    zr_list_init(&tree->resting);
    zr_list_init(&tree->unsettled);
    zr_list_init(&tree->hidden);
    zr_list_init(&tree->log);
    zr_list_init(&tree->readers);
    zr_signal_init(&tree->work);
    zr_signal_init(&tree->news);
}

static enum zr_status make_root(struct zr_tree *tree, const char *path)
{
    char *full = zr_path_join(tree->session->namespace, path);
    tree->path = zr_copy_string(path);
    if (full != NULL && tree->path != NULL)
        tree->root = zr_tree_node(tree, full, strlen(full));
    zr_free(full);
    return tree->root != NULL ? ZR_OK : ZR_NO_MEMORY;
}

/* The binding gives each pattern with a zero byte behind it; behind them all comes one more. */
static enum zr_status copy_filter(struct zr_tree *tree, const struct zr_arg *arg)
{
    if (arg->bytes.at == NULL)
        return ZR_OK;
    tree->filter = zr_alloc(arg->bytes.length + 1);
    if (tree->filter == NULL)
        return ZR_NO_MEMORY;
    memcpy(tree->filter, arg->bytes.at, arg->bytes.length);
    return ZR_OK;
}

static void start(struct zr_tree *tree)
{
    tree->running = true;
    zr_object_ref(&tree->object);
    zr_tree_keep(tree->root, NULL, 0);
    zr_task_start(&tree->task, &load_kind, tree->session, tree->path, -1, ZR_STEP(zr_tree_load));
    zr_task_detach(&tree->task);
}

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    struct zr_tree *tree = zr_alloc(sizeof(*tree));
    if (tree == NULL)
        return ZR_NO_MEMORY;
    init(tree, session);
    tree->depth = args->at[1].given ? args->at[1].integer : -1;
    *object = &tree->object;
    status = copy_filter(tree, &args->at[2]);
    if (status == ZR_OK)
        status = make_root(tree, args->at[0].bytes.at);
    if (status == ZR_OK)
        start(tree);
    else
        zr_object_unref(*object);
    return status;
}

const struct zr_recipe zr_tree_recipe = {.name = "tree", .args = "pi?d?", .make = make};
