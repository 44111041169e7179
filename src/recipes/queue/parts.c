#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/put.h"

/*
 * The transaction of append.c: its parts, in the order in which the server looks at them. Those
 * that tell whether an item may be moved come before the znode of its id, so that this znode is
 * made only for an item that is there.
 */

struct parts {
    struct zr_request *at;
    size_t count;
    char *text; /* room for more */
};

/* Keeps the text as long as the parts. */
__attribute__((format(printf, 2, 3))) static const char *say(struct parts *parts,
                                                             const char *format, ...)
{
    char *text = parts->text;
    va_list arguments;
    va_start(arguments, format);
    parts->text += vsprintf(text, format, arguments) + 1;
    va_end(arguments);
    return text;
}

static struct zr_request *add(struct parts *parts, enum zr_op op, const char *path)
{
    struct zr_request *part = &parts->at[parts->count++];
    part->op = op;
    part->path = path;
    part->version = ZR_ANY_VERSION;
    part->data = (struct zr_bytes){"", 0};
    return part;
}

static void add_items(struct parts *parts, struct zr_put *put, const char *bucket)
{
    const char *in = say(parts, "%s/in", put->lane->path);
    const char *due = put->due_ms > 0 ? say(parts, "%013" PRId64 "-", put->due_ms) : "";
    char tag[ZR_ITEM_TAG];
    for (size_t i = 0; i < put->count; i++) {
        if (i > 0)
            zr_put_tag(put, i, tag);
        const char *path = say(parts, "%s/%s%s-q-", bucket, due, i > 0 ? tag : put->tag);
        struct zr_request *item = add(parts, ZR_OP_CREATE, path);
        item->mode = ZR_PERSISTENT_SEQUENTIAL;
        item->data = put->entries[i];
        add(parts, ZR_OP_SET, in);
    }
}

static void add_id(struct parts *parts, const struct zr_put *put, const char *root)
{
    const char *lane = put->removed ? "removed" : put->lane->name;
    const char *place = say(parts, "%s %" PRId64 " %s", lane, put->bucket, put->tag);
    struct zr_request *part = add(parts, put->id_there ? ZR_OP_SET : ZR_OP_CREATE,
                                  say(parts, "%s%s", root, put->id_path));
    part->data = (struct zr_bytes){place, strlen(place)};
}

/* The item stays where it is, and consumers are told. */
static void add_return(struct parts *parts, const struct zr_put *put)
{
    struct zr_request *item =
        add(parts, put->text.at != NULL ? ZR_OP_SET : ZR_OP_CHECK, put->from.at);
    item->version = put->version;
    item->data = put->text;
    add(parts, ZR_OP_SET, put->put_count.at);
}

/* If the claim is not ours, these parts fail if there is one. */
static void add_move(struct parts *parts, const struct zr_put *put)
{
    if (put->claim.at != NULL && !put->held)
        add(parts, ZR_OP_CREATE, put->claim.at)->mode = ZR_EPHEMERAL;
    if (put->claim.at != NULL)
        add(parts, ZR_OP_DELETE, put->claim.at);
    if (put->put_count.at != NULL)
        add_return(parts, put);
    else
        add(parts, ZR_OP_DELETE, put->from.at)->version = put->version;
    if (put->out.at != NULL)
        add(parts, ZR_OP_SET, put->out.at);
}

static void add_bucket(struct parts *parts, struct zr_put *put)
{
    char name[ZR_BUCKET_NAME];
    const char *path = say(parts, "%s%s", put->lane->path, zr_bucket_name(put->bucket, name));
    if (zr_put_may_be_sealed(put))
        add(parts, ZR_OP_CHECK, path)->version = 0;
    add_items(parts, put, path);
}

/* The server has numbered them one after the other. */
static void add_voids(struct parts *parts, const struct zr_put *put)
{
    char name[ZR_BUCKET_NAME], tag[ZR_ITEM_TAG];
    const char *bucket = zr_bucket_name(put->voided_bucket, name);
    int64_t last = zr_item_number(put->voided) + zr_item_following(put->voided);
    int64_t first = last - (int64_t)put->count + 1;
    for (size_t i = 0; i < put->count; i++) {
        zr_put_tag(put, i, tag);
        add(parts, ZR_OP_DELETE,
            say(parts, "%s%s/%s-p-%010" PRId64, put->lane->path, bucket, tag, first + (int64_t)i));
    }
}

/* How many bytes the texts of the parts need, at most. */
static size_t room_for(const struct zr_put *put, const char *root)
{
    size_t path = put->lane != NULL ? strlen(put->lane->path) : 0;
    path += ZR_BUCKET_NAME + ZR_ITEM_TAG + 24;
    return path * (2 * put->count + 4) + strlen(root) + ZR_ID_PATH_MAX + ZR_ITEM_TAG + 64;
}

enum zr_status zr_put_new_multi(struct zr_put *put, struct zr_call **call)
{
    struct zr_task *task = &put->queue_task.znode_task.task;
    const char *root = zr_queue_of(task)->znode.path;
    size_t most = 3 * put->count + 8;
    struct parts parts = {.at = zr_alloc(most * sizeof(struct zr_request) + room_for(put, root))};
    if (parts.at == NULL)
        return ZR_NO_MEMORY;
    parts.text = (char *)(parts.at + most);
    put->first_part = zr_put_may_be_sealed(put);
    if (put->lane != NULL)
        add_bucket(&parts, put);
    if (put->tombstone != NULL)
        add(&parts, ZR_OP_DELETE, put->tombstone);
    if (put->voided[0] != '\0')
        add_voids(&parts, put);
    if (put->from.at != NULL)
        add_move(&parts, put);
    if (put->id_path != NULL)
        add_id(&parts, put, root);
    enum zr_status status = zr_call_new_multi(task->session, NULL, parts.at, parts.count, call);
    zr_free(parts.at);
    return status;
}
