#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/tree/tree.h"

/*
 * The copy as one text, for a file, and back (lua/zkrecipes/recipes/tree/file.lua).
 *
 *   which tree it is    the path of the root with the namespace, the depth, the filter
 *   for each znode      a record, its path as the user says it, its data; parents before their
 *                       children, these by name
 *
 * Numbers are as this machine has them: the file does not leave it.
 *
 * A copy from a file is like one whose session was lost: what it shows stays, is as old as it is,
 * and all is read again.
 *
 * What can go wrong: the text is damaged, although its hash is right, or memory is exhausted: the
 * copy is as empty as it was before.
 */

struct record {
    struct zr_stat stat;
    uint32_t path_length, data_length;
    uint8_t refused, has_data;
};

/* ---- Writing ------------------------------------------------------------------------------- */

/* Without a block it only counts. */
struct writer {
    char *at;
    size_t length;
};

static void put(struct writer *writer, const void *from, size_t length)
{
    if (writer->at != NULL && length > 0)
        memcpy(writer->at + writer->length, from, length);
    writer->length += length;
}

/* The filter ends with two zero bytes, see tree.h. */
static size_t filter_length(const char *filter)
{
    size_t length = 0;
    while (filter != NULL && filter[length] != '\0')
        length += strlen(filter + length) + 1;
    return length;
}

static void put_identity(struct writer *writer, const struct zr_tree *tree)
{
    size_t length = filter_length(tree->filter);
    put(writer, tree->root->path, strlen(tree->root->path) + 1);
    put(writer, &tree->depth, sizeof(tree->depth));
    put(writer, &length, sizeof(length));
    put(writer, tree->filter, length);
}

/* What is not shown has nothing below it that could be restored. */
static void put_node(struct writer *writer, const struct zr_tree_node *node)
{
    const struct zr_tree_state *state = node->state;
    if (state == NULL)
        return;
    struct record record;
    memset(&record, 0, sizeof(record)); /* also the bytes between the fields */
    record.stat = state->stat;
    record.path_length = (uint32_t)strlen(node->in_table.key);
    record.data_length = (uint32_t)state->data.length;
    record.refused = state->refused;
    record.has_data = state->data.at != NULL;
    put(writer, &record, sizeof(record));
    put(writer, node->in_table.key, record.path_length);
    put(writer, state->data.at, state->data.length);
    for (size_t i = 0; i < node->kid_count; i++)
        put_node(writer, node->kids[i]);
}

static void put_all(struct writer *writer, const struct zr_tree *tree)
{
    put_identity(writer, tree);
    put_node(writer, tree->root);
}

enum zr_status zr_tree_pack(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    struct zr_tree *tree = (struct zr_tree *)self;
    struct writer writer = {NULL, 0};
    (void)args;
    put_all(&writer, tree);
    zr_free(tree->packed); /* the sink failed the last time */
    tree->packed = writer.at = zr_alloc(writer.length);
    if (writer.at == NULL)
        return ZR_NO_MEMORY;
    writer.length = 0;
    put_all(&writer, tree);
    sink->bytes(sink, NULL, (struct zr_bytes){writer.at, writer.length});
    zr_free(tree->packed);
    tree->packed = NULL;
    return ZR_OK;
}

/* ---- Reading ------------------------------------------------------------------------------- */

struct reader {
    struct zr_tree *tree;
    struct zr_bytes rest;
    int64_t since_us;
    bool exhausted; /* memory is */
};

/* The next bytes; null: there are not so many. */
static const char *take(struct reader *reader, size_t length)
{
    const char *at = reader->rest.at;
    if (reader->rest.length < length)
        return NULL;
    reader->rest.at += length;
    reader->rest.length -= length;
    return at;
}

static bool take_same(struct reader *reader, const void *as, size_t length)
{
    const char *given = take(reader, length);
    return given != NULL && (length == 0 || memcmp(given, as, length) == 0);
}

/* False: it is of another tree. */
static bool take_identity(struct reader *reader)
{
    const struct zr_tree *tree = reader->tree;
    size_t length = filter_length(tree->filter);
    return take_same(reader, tree->root->path, strlen(tree->root->path) + 1) &&
           take_same(reader, &tree->depth, sizeof(tree->depth)) &&
           take_same(reader, &length, sizeof(length)) && take_same(reader, tree->filter, length);
}

/* Passes this on, and notes that it is null for want of memory. */
static void *allocated(struct reader *reader, void *memory)
{
    reader->exhausted |= memory == NULL;
    return memory;
}

static struct zr_tree_state *state_of(struct reader *reader, const struct record *record,
                                      const char *data)
{
    struct zr_tree_state *state = allocated(reader, zr_alloc(sizeof(*state)));
    if (state == NULL)
        return NULL;
    *state = (struct zr_tree_state){1, record->refused != 0, record->stat, ZR_NO_DATA};
    if (!record->has_data)
        return state;
    char *copy = allocated(reader, zr_copy(data, record->data_length));
    state->data = (struct zr_bytes){copy, record->data_length};
    if (copy != NULL)
        return state;
    zr_free(state);
    return NULL;
}

/* Room for one more child. A list of 2^n has no more, see grow. */
static bool grow(struct reader *reader, struct zr_tree_node *parent)
{
    size_t count = parent->kid_count;
    if ((count & (count - 1)) != 0)
        return true;
    size_t size = (count > 0 ? 2 * count : 1) * sizeof(parent->kids[0]);
    struct zr_tree_node **kids = allocated(reader, zr_alloc(size));
    if (kids == NULL)
        return false;
    if (count > 0)
        memcpy(kids, parent->kids, count * sizeof(kids[0]));
    zr_free(parent->kids);
    parent->kids = kids;
    return true;
}

/* The node above this path; null: it is not there, may have no children, or has one that does not
   come before this path. */
static struct zr_tree_node *parent_of(const struct zr_tree *tree, char *path, const char *name)
{
    size_t length = zr_path_parent_length(path);
    char kept = path[length];
    path[length] = '\0';
    struct zr_tree_node *parent = zr_tree_find(tree, path);
    path[length] = kept;
    if (parent == NULL || !parent->kept || zr_tree_is_leaf(parent) || !zr_tree_wants(parent, name))
        return NULL;
    size_t count = parent->kid_count;
    bool after = count == 0 || strcmp(zr_tree_name(parent->kids[count - 1]), name) < 0;
    return after ? parent : NULL;
}

/* path: as the user says it. */
static struct zr_tree_node *add(struct reader *reader, char *path)
{
    struct zr_tree *tree = reader->tree;
    const char *name = strrchr(path, '/') + 1;
    struct zr_tree_node *parent = parent_of(tree, path, name);
    if (parent == NULL || !grow(reader, parent))
        return NULL;
    char *full = allocated(reader, zr_path_child(parent->path, name));
    if (full == NULL)
        return NULL;
    struct zr_tree_node *node = allocated(reader, zr_tree_node(tree, full, strlen(full)));
    zr_free(full);
    if (node == NULL)
        return NULL;
    parent->kids[parent->kid_count++] = node;
    zr_tree_keep(node, parent, reader->since_us);
    return node;
}

static struct zr_tree_node *node_of(struct reader *reader, char *path)
{
    struct zr_tree *tree = reader->tree;
    if (strcmp(path, tree->path) != 0)
        return add(reader, path);
    return tree->root->state == NULL ? tree->root : NULL;
}

/* False: the text is damaged, or memory is exhausted. */
static bool take_node(struct reader *reader)
{
    struct record record;
    const char *at = take(reader, sizeof(record));
    if (at == NULL)
        return false;
    memcpy(&record, at, sizeof(record));
    const char *given = take(reader, record.path_length);
    const char *data = take(reader, record.data_length);
    if (given == NULL || data == NULL || zr_path_problem(given, record.path_length) != NULL)
        return false;
    char *path = allocated(reader, zr_copy(given, record.path_length));
    struct zr_tree_state *state = state_of(reader, &record, data);
    struct zr_tree_node *node = path != NULL && state != NULL ? node_of(reader, path) : NULL;
    zr_free(path);
    if (node != NULL)
        zr_tree_show(node, state);
    else
        zr_tree_state_free(state);
    return node != NULL;
}

static void begin_again(struct zr_tree *tree)
{
    zr_tree_drop_below(tree->root);
    zr_tree_hide(tree->root);
}

static bool take_all(struct reader *reader)
{
    while (reader->rest.length > 0)
        if (!take_node(reader)) {
            begin_again(reader->tree);
            return false;
        }
    return true;
}

/* The root was to be read already, as the root of a copy that was never loaded. */
static void date_root(struct zr_tree *tree, int64_t since_us)
{
    unsigned needs = tree->root->needs;
    zr_unlink(&tree->root->in_unsettled);
    zr_tree_need(tree->root, needs, since_us);
}

enum zr_status zr_tree_restore(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    struct zr_tree *tree = (struct zr_tree *)self;
    int64_t now_us = zr_engine_now_us(tree->session->engine);
    bool dated = args->at[1].given;
    struct reader reader = {tree, args->at[0].bytes,
                            dated ? now_us - args->at[1].integer : ZR_TREE_NEVER, false};
    if (!take_identity(&reader)) {
        zr_emit_string(sink, NULL, "another");
    } else if (!take_all(&reader)) {
        zr_emit_string(sink, NULL, reader.exhausted ? "no_memory" : "damaged");
    } else {
        date_root(tree, reader.since_us);
        tree->loaded = tree->from_file = true;
        zr_tree_fire(tree);
        sink->nothing(sink, NULL);
    }
    return ZR_OK;
}
