#include "core/alloc.h"
#include "core/verbs.h"
#include "recipes/tree/tree.h"

/*
 * tree:changes(): tells a reader what changes, so that its picture becomes that of the copy.
 *
 * 1. A reader has a position in the log; what is behind it may be news. A new reader's position is
 *    at the beginning: it is told first what is there.
 * 2. For each znode that it was told of, the reader keeps what it was told (one reference).
 * 3. take() compares the first node behind the position with what was told: added, changed,
 *    removed, or nothing; then the position moves behind it. If the znode was deleted and made
 *    again meanwhile, it is told as removed, and the next time as added.
 *
 * So a slow reader gets the latest state of each path, and needs memory for what it was told, not
 * for each change. A node whose znode is gone stays in the log until no reader has to be told so.
 *
 * What can go wrong: memory is exhausted: nothing is told, and the next take tells it. A finalizer
 * runs while a change is emitted, and closes the reader or the tree: what is being told is kept
 * until the next take.
 */

struct told {
    struct zr_node in_table;
    struct zr_tree_node *node;
    struct zr_tree_state *state; /* counted */
};

struct zr_changes {
    struct zr_object object;
    struct zr_tree *tree; /* counted */
    struct zr_link in_tree;
    struct zr_tree_entry position;
    struct zr_table told;
    struct told *spare; /* so that what is told can be noted */
    bool closed;
    /* what was told last: counted, and the node pinned */
    struct zr_tree_node *telling;
    struct zr_tree_state *before, *now;
};

static struct zr_changes *of(struct zr_object *self)
{
    return (struct zr_changes *)self;
}

static struct told *find(const struct zr_changes *reader, const struct zr_tree_node *node)
{
    struct zr_node *found = zr_table_find(&reader->told, node->in_table.key);
    return found != NULL ? ZR_HOLDER(found, struct told, in_table) : NULL;
}

bool zr_tree_is_told(const struct zr_tree_node *node)
{
    const struct zr_link *end = &node->tree->readers.head;
    for (const struct zr_link *link = end->next; link != end; link = link->next)
        if (find(ZR_HOLDER(link, struct zr_changes, in_tree), node) != NULL)
            return true;
    return false;
}

/* The reader has nothing more to be told of the node. */
static void passed(struct zr_tree_node *node)
{
    if (node->state == NULL && !zr_tree_is_told(node))
        zr_unlink(&node->entry.link);
    zr_tree_node_done(node);
}

static void forget(struct zr_changes *reader, struct told *told)
{
    struct zr_tree_node *node = told->node;
    zr_table_remove(&reader->told, &told->in_table);
    zr_tree_state_free(told->state);
    zr_free(told);
    passed(node);
}

static struct zr_tree_state *hold(struct zr_tree_state *state)
{
    if (state != NULL)
        state->refs++;
    return state;
}

/* ---- What comes next ----------------------------------------------------------------------- */

static void move_to(struct zr_changes *reader, struct zr_link *behind)
{
    struct zr_link *position = &reader->position.link;
    zr_unlink(position);
    position->prev = behind;
    position->next = behind->next;
    behind->next->prev = position;
    behind->next = position;
}

/* The first node behind the position of which there is something to tell, or null. The position
   stands before it. */
static struct zr_tree_node *next(struct zr_changes *reader)
{
    const struct zr_list *log = &reader->tree->log;
    struct zr_link *link;
    while ((link = reader->position.link.next) != &log->head) {
        struct zr_tree_entry *entry = ZR_HOLDER(link, struct zr_tree_entry, link);
        struct zr_tree_node *node = ZR_HOLDER(entry, struct zr_tree_node, entry);
        if (!entry->is_position) {
            const struct told *told = find(reader, node);
            if (!zr_tree_same(told != NULL ? told->state : NULL, node->state))
                return node;
        }
        move_to(reader, link);
        if (!entry->is_position)
            passed(node);
    }
    return NULL;
}

static void told_last(struct zr_changes *reader)
{
    struct zr_tree_node *node = reader->telling;
    zr_tree_state_free(reader->before);
    zr_tree_state_free(reader->now);
    reader->before = reader->now = NULL;
    reader->telling = NULL;
    if (node == NULL)
        return;
    node->pins--;
    zr_tree_node_done(node);
}

/* False: memory is exhausted. */
static bool prepare(struct zr_changes *reader, struct zr_tree_node *node)
{
    const struct told *told = find(reader, node);
    struct zr_tree_state *before = told != NULL ? told->state : NULL, *now = node->state;
    if (before == NULL && reader->spare == NULL &&
        (reader->spare = zr_alloc(sizeof(*reader->spare))) == NULL)
        return false;
    if (before != NULL && now != NULL && !zr_tree_same_znode(before, now))
        now = NULL; /* removed; it will be added */
    /* The first entry may need memory for the table: it is added before it is told. */
    if (before == NULL) {
        reader->spare->node = node;
        if (zr_table_add(&reader->told, &reader->spare->in_table, node->in_table.key) != ZR_OK)
            return false;
        zr_table_remove(&reader->told, &reader->spare->in_table);
    }
    reader->before = hold(before);
    reader->now = hold(now);
    reader->telling = node;
    node->pins++;
    return true;
}

/* The change was told. The node may have changed since it was prepared, but only by a finalizer. */
static void note(struct zr_changes *reader)
{
    struct zr_tree_node *node = reader->telling;
    struct told *told = find(reader, node);
    if (reader->now == NULL) {
        if (told != NULL)
            forget(reader, told);
        return;
    }
    if (told == NULL) {
        told = reader->spare;
        reader->spare = NULL;
        told->node = node;
        zr_table_add(&reader->told, &told->in_table, node->in_table.key);
    }
    zr_tree_state_free(told->state);
    told->state = hold(reader->now);
}

/* ---- take() -------------------------------------------------------------------------------- */

static void emit_state(struct zr_sink *sink, const struct zr_tree_state *state)
{
    sink->bytes(sink, "data", state->data);
    zr_emit_stat(sink, "stat", &state->stat);
    if (state->refused)
        zr_emit_string(sink, "problem", zr_status_word(ZR_NO_AUTH));
}

static void emit(struct zr_sink *sink, const struct zr_changes *reader)
{
    const char *kind = reader->before == NULL ? "added" : "changed";
    sink->begin(sink, NULL);
    zr_emit_string(sink, "kind", reader->now == NULL ? "removed" : kind);
    zr_emit_string(sink, "path", reader->telling->in_table.key);
    if (reader->now != NULL)
        emit_state(sink, reader->now);
    if (reader->before != NULL) {
        sink->begin(sink, "before");
        emit_state(sink, reader->before);
        sink->end(sink);
    }
    sink->end(sink);
}

/* changes:take(): the next change, or nil if there is none now. */
static enum zr_status take(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    struct zr_changes *reader = of(self);
    (void)args;
    told_last(reader);
    struct zr_tree_node *node = reader->closed ? NULL : next(reader);
    if (node == NULL) {
        sink->nothing(sink, NULL);
        return ZR_OK;
    }
    if (!prepare(reader, node))
        return ZR_NO_MEMORY;
    emit(sink, reader);
    if (!reader->closed)
        note(reader);
    return ZR_OK;
}

/* ---- Waiting ------------------------------------------------------------------------------- */

struct wait {
    struct zr_task task;
    struct zr_changes *reader; /* counted */
};

static void await_news(struct zr_task *task)
{
    struct zr_changes *reader = ZR_HOLDER(task, struct wait, task)->reader;
    const struct zr_tree *tree = reader->tree;
    if (reader->closed || tree->closed) {
        task->detail = reader->closed ? "it is closed" : "the tree is closed";
        zr_task_finish(task, ZR_CLOSED);
    } else if (next(reader) != NULL) {
        zr_task_finish(task, ZR_OK);
    } else if (!tree->running) {
        zr_task_finish(task, tree->ended);
    } else {
        zr_verb_await(task, &reader->tree->news, ZR_STEP(await_news));
    }
}

static void wait_free(struct zr_task *task)
{
    struct wait *wait = ZR_HOLDER(task, struct wait, task);
    struct zr_changes *reader = wait->reader;
    zr_free(wait);
    zr_object_unref(&reader->object);
}

static const struct zr_task_kind wait_kind = {
    .name = "changes:next", .local = true, .results = zr_emit_true, .free = wait_free};

/* changes:await([timeout]): true when there is something to take. */
static enum zr_status await(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_tree *tree = of(self)->tree;
    if (zr_engine_forked(tree->session->engine))
        return ZR_FORKED;
    struct wait *wait = zr_alloc(sizeof(*wait));
    if (wait == NULL)
        return ZR_NO_MEMORY;
    wait->reader = (struct zr_changes *)zr_object_ref(self);
    *task = &wait->task;
    zr_task_start(*task, &wait_kind, tree->session, tree->path,
                  args->at[0].given ? args->at[0].integer : -1, ZR_STEP(await_news));
    return ZR_OK;
}

/* ---- The class ----------------------------------------------------------------------------- */

static void close_reader(struct zr_object *self)
{
    struct zr_changes *reader = of(self);
    struct zr_node *node;
    if (reader->closed)
        return;
    reader->closed = true;
    zr_unlink(&reader->position.link);
    zr_unlink(&reader->in_tree);
    while ((node = zr_table_any(&reader->told)) != NULL)
        forget(reader, ZR_HOLDER(node, struct told, in_table));
    zr_table_fini(&reader->told);
    zr_tree_fire(reader->tree);
}

static enum zr_status call_close(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    (void)args;
    close_reader(self);
    sink->boolean(sink, NULL, true);
    return ZR_OK;
}

static void free_reader(struct zr_object *self)
{
    struct zr_changes *reader = of(self);
    struct zr_tree *tree = reader->tree;
    close_reader(self);
    told_last(reader);
    zr_free(reader->spare);
    zr_free(reader);
    zr_object_unref(&tree->object);
}

static void get_path(struct zr_object *self, struct zr_sink *sink)
{
    zr_emit_string(sink, NULL, of(self)->tree->path);
}

static const struct zr_method methods[] = {
    {.name = "take", .args = "", .call = take, .inner = true},
    {.name = "await", .args = "t?", .start = await, .inner = true},
    {.name = "close", .args = "", .call = call_close},
    {.name = NULL},
};

static const struct zr_property properties[] = {{"path", get_path}, {NULL, NULL}};

const struct zr_class zr_changes_class = {"changes", methods, properties, close_reader,
                                          free_reader};

enum zr_status zr_tree_changes(struct zr_object *self, struct zr_args *args,
                               struct zr_object **object)
{
    struct zr_tree *tree = (struct zr_tree *)self;
    struct zr_changes *reader = zr_alloc(sizeof(*reader));
    (void)args;
    if (reader == NULL)
        return ZR_NO_MEMORY;
    reader->object = (struct zr_object){&zr_changes_class, 1};
    reader->tree = (struct zr_tree *)zr_object_ref(self);
    reader->position.is_position = true;
    zr_list_append(&tree->readers, &reader->in_tree);
    move_to(reader, &tree->log.head);
    *object = &reader->object;
    return ZR_OK;
}
