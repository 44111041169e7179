#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/queue/put.h"

/*
 * One transaction puts items into a bucket, all or none:
 *
 *     check   the bucket is not sealed (except for delayed items)
 *     create  an item, and
 *     set     its lane's `in`, which counts it and wakes consumers; these two for each item
 *     ...     the end of the tombstone that had this id, or of the item elsewhere if it is moved
 *     set     the znode of its id, or create
 *
 * If it is refused, the server says for which part, and that says what to do.
 *
 * What can go wrong: the bucket is sealed, or was emptied and deleted: read the lane's tail. A
 * directory does not exist yet: make it. The id's znode exists: look at it (known.c). The item that
 * is moved has changed: fail. The answer is lost: an item with our tag is in the bucket if the
 * transaction was done; if there is an id, its znode has our tag; a moved item is gone.
 */

#define MISSING_MAX 5

struct parts {
    struct zr_request *at;
    size_t count;
    char *text; /* room for more */
};

/* ---- The transaction ----------------------------------------------------------------------- */

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
    int64_t id = zr_queue_of(&put->queue_task.znode_task.task)->session_id;
    for (size_t i = 0; i < put->count; i++) {
        const char *path = i == 0 ? say(parts, "%s/%s%s-q-", bucket, due, put->tag)
                                  : say(parts, "%s/%s%016" PRIx64 "_0_%" PRIu64 "-q-", bucket, due,
                                        (uint64_t)id, put->first + i);
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

/* If the claim is not ours, these parts fail if there is one. */
static void add_move(struct parts *parts, const struct zr_put *put)
{
    if (put->claim.at != NULL && !put->held)
        add(parts, ZR_OP_CREATE, put->claim.at)->mode = ZR_EPHEMERAL;
    if (put->claim.at != NULL)
        add(parts, ZR_OP_DELETE, put->claim.at);
    add(parts, ZR_OP_DELETE, put->from.at)->version = put->version;
    add(parts, ZR_OP_SET, put->out.at);
}

static bool is_delayed(const struct zr_put *put)
{
    return put->due_ms > 0;
}

/* The bucket may be sealed. */
static bool may_be_sealed(const struct zr_put *put)
{
    return put->lane != NULL && !is_delayed(put);
}

static void add_bucket(struct parts *parts, struct zr_put *put)
{
    char name[ZR_BUCKET_NAME];
    const char *path = say(parts, "%s%s", put->lane->path, zr_bucket_name(put->bucket, name));
    if (may_be_sealed(put))
        add(parts, ZR_OP_CHECK, path)->version = 0;
    add_items(parts, put, path);
}

/* How many bytes the texts of the parts need, at most. */
static size_t room_for(const struct zr_put *put, const char *root)
{
    size_t path = put->lane != NULL ? strlen(put->lane->path) : 0;
    path += ZR_BUCKET_NAME + ZR_ITEM_TAG + 24;
    return path * (put->count + 3) + strlen(root) + ZR_ID_PATH_MAX + ZR_ITEM_TAG + 64;
}

static enum zr_status new_multi(struct zr_put *put, struct zr_call **call)
{
    struct zr_task *task = &put->queue_task.znode_task.task;
    const char *root = task->subject;
    size_t most = 2 * put->count + 7;
    struct parts parts = {.at = zr_alloc(most * sizeof(struct zr_request) + room_for(put, root))};
    if (parts.at == NULL)
        return ZR_NO_MEMORY;
    parts.text = (char *)(parts.at + most);
    put->first_part = may_be_sealed(put);
    if (put->lane != NULL)
        add_bucket(&parts, put);
    if (put->tombstone != NULL)
        add(&parts, ZR_OP_DELETE, put->tombstone);
    if (put->from.at != NULL)
        add_move(&parts, put);
    if (put->id_path != NULL)
        add_id(&parts, put, root);
    enum zr_status status = zr_call_new_multi(task->session, NULL, parts.at, parts.count, call);
    zr_free(parts.at);
    return status;
}

/* ---- Lost answers -------------------------------------------------------------------------- */

static bool in_bucket(struct zr_task *task, const struct zr_request *answer)
{
    const struct zr_names *names = answer->status == ZR_OK ? answer->names : NULL;
    for (size_t i = 0; names != NULL && i < names->count; i++)
        if (zr_item_has_tag(names->at[i], zr_put_of(task)->tag))
            return true;
    return false;
}

static bool has_id(struct zr_task *task, const struct zr_request *answer)
{
    return answer->status == ZR_OK && zr_put_says_ours(zr_put_of(task), answer->data_reply);
}

static bool is_moved(struct zr_task *task, const struct zr_request *answer)
{
    zr_put_of(task)->doubted = true;
    return answer->status == ZR_NO_NODE;
}

/* Sets how a lost answer is found out. */
static enum zr_status prepare(struct zr_put *put)
{
    const struct zr_queue *queue = zr_queue_of(&put->queue_task.znode_task.task);
    struct zr_transaction *transaction = &put->transaction;
    char bucket[ZR_BUCKET_NAME];
    zr_free(put->asked);
    if (put->from.at != NULL)
        put->asked = zr_queue_full(queue, put->from.at, "");
    else if (put->id_path != NULL)
        put->asked = zr_queue_full(queue, queue->znode.path, put->id_path);
    else
        put->asked = zr_queue_full(queue, put->lane->path, zr_bucket_name(put->bucket, bucket));
    transaction->op = put->from.at != NULL   ? ZR_OP_EXISTS
                      : put->id_path != NULL ? ZR_OP_GET
                                             : ZR_OP_CHILDREN;
    transaction->was_done = put->from.at != NULL   ? is_moved
                            : put->id_path != NULL ? has_id
                                                   : in_bucket;
    transaction->path = put->asked;
    return put->asked != NULL ? ZR_OK : ZR_NO_MEMORY;
}

/* ---- Refusals ------------------------------------------------------------------------------ */

/* The index of the part for which the multi was refused; past the last one if none says so. */
static size_t refused_part(const struct zr_request *multi)
{
    size_t i = 0;
    while (i < multi->part_count && multi->parts[i].status != multi->status)
        i++;
    return i;
}

/* The id's znode is the last part. If it should be there, but was deleted by hand, create it; but
   only after the parts before have found what they need. */
static void id_missing(struct zr_task *task)
{
    if (!zr_put_of(task)->id_there) {
        zr_put_make_folder(task);
        return;
    }
    zr_put_of(task)->id_there = false;
    zr_put_append(task);
}

static void id_exists(struct zr_task *task)
{
    if (zr_put_of(task)->from.at == NULL) {
        zr_put_look_at_id(task);
        return;
    }
    zr_put_of(task)->id_there = true;
    zr_put_append(task);
}

/* What the items need is missing. */
static void bucket_missing(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    if (is_delayed(put)) {
        zr_put_make_slot(task);
        return;
    }
    put->lane->tail = -1;
    zr_put_append(task);
}

static void looked_for(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        zr_task_finish(task, ZR_OK);
    else
        zr_verb_fail(task, task->outcome == ZR_OK ? ZR_BAD_VERSION : task->outcome);
}

static void settled(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        zr_queue_read(task, ZR_OP_EXISTS, zr_put_of(task)->from.at, "", ZR_STEP(looked_for));
    else
        zr_verb_fail(task, task->outcome);
}

/* The item that is moved has changed. If an answer was lost before, the transaction may have been
   done late: then the item is gone. */
static void not_as_expected(struct zr_task *task, enum zr_status status)
{
    if (zr_put_of(task)->doubted)
        zr_queue_read(task, ZR_OP_SYNC, task->subject, "", ZR_STEP(settled));
    else
        zr_verb_fail(task, status);
}

/* part: the index of the part of the transaction whose znode is missing. */
static void missing(struct zr_task *task, size_t part)
{
    struct zr_put *put = zr_put_of(task);
    const struct zr_request *multi = &task->call->request;
    if (++put->missing > MISSING_MAX)
        zr_verb_fail(task, ZR_NO_NODE);
    else if (part < put->first_part + 2 * put->count)
        bucket_missing(task);
    else if (put->id_path != NULL && part == multi->part_count - 1)
        id_missing(task);
    else if (put->tombstone != NULL)
        zr_put_look_at_id(task);
    else
        not_as_expected(task, ZR_NO_NODE);
}

static void sealed(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    if (put->lane->tail == put->bucket)
        put->lane->tail = -1;
    zr_put_append(task);
}

static void refused(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    enum zr_status status = task->outcome;
    size_t count = task->call->request.part_count, part = refused_part(&task->call->request);
    if (status == ZR_NO_NODE && part < count)
        missing(task, part);
    else if (status == ZR_BAD_VERSION && part < put->first_part)
        sealed(task);
    else if (status == ZR_NODE_EXISTS && put->id_path != NULL && part == count - 1)
        id_exists(task);
    else if (status == ZR_BAD_VERSION)
        not_as_expected(task, status);
    else
        zr_verb_fail(task, status);
}

/* Learns the time, and begins the next bucket if this one is full. */
static void learn(struct zr_task *task, const struct zr_request *multi)
{
    struct zr_put *put = zr_put_of(task);
    struct zr_queue *queue = zr_queue_of(task);
    size_t last = put->first_part + 2 * put->count - 2;
    const char *path = multi->parts[last].created, *name = strrchr(path, '/');
    zr_queue_tell(queue, multi->parts[last + 1].stat.mtime_ms);
    snprintf(put->created, sizeof(put->created), "%s", name != NULL ? name + 1 : "");
    if (!is_delayed(put) && zr_item_number(path) >= queue->bucket_size - 1)
        zr_lane_roll(queue, put->lane, put->bucket);
}

static void put_done(struct zr_task *task)
{
    const struct zr_request *multi = &task->call->request;
    if (multi->op == ZR_OP_MULTI && zr_put_of(task)->count > 0)
        learn(task, multi);
    zr_task_finish(task, ZR_OK);
}

static void answered(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        put_done(task);
    else
        refused(task);
}

/* ---- The step ------------------------------------------------------------------------------ */

void zr_put_append(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    struct zr_call *call;
    if (may_be_sealed(put) && put->lane->tail < 0) {
        zr_put_find_tail(task);
        return;
    }
    if (put->lane != NULL)
        put->bucket = is_delayed(put) ? put->due_ms / ZR_SLOT_MS : put->lane->tail;
    enum zr_status status = prepare(put);
    if (status == ZR_OK)
        status = new_multi(put, &call);
    if (status != ZR_OK)
        zr_verb_fail(task, status);
    else if (put->once)
        zr_verb_request(task, call, false, ZR_STEP(answered));
    else
        zr_verb_transact(task, call, &put->transaction, ZR_STEP(answered));
}
