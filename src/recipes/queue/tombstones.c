#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/tidy.h"

/*
 * Some tombstones of a bucket (steps 2 and 3 of tidy.c): read them all at the same time, and delete
 * the old ones, with the znodes of their ids, in one transaction.
 */

#define REMEMBER_MS 60000

static void stop(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

void zr_tombstones_forget(struct zr_tidy *tidy)
{
    for (size_t i = 0; i < tidy->count; i++) {
        zr_call_free(tidy->at[i].read);
        zr_free(tidy->at[i].path);
        zr_free(tidy->at[i].id);
        tidy->at[i] = (struct zr_tombstone){.read = NULL};
    }
    tidy->count = 0;
}

/* ---- 3. Deleting --------------------------------------------------------------------------- */

static void delete_some(struct zr_task *task, size_t from, size_t count, struct zr_next next)
{
    const struct zr_tidy *tidy = zr_tidy_of(task);
    struct zr_request parts[2 * ZR_TOMBSTONES] = {{.path = NULL}};
    struct zr_call *call;
    for (size_t i = 0; i < 2 * count; i++) {
        const struct zr_tombstone *one = &tidy->at[from + i / 2];
        parts[i] = (struct zr_request){.op = ZR_OP_DELETE,
                                       .path = i % 2 == 0 ? one->path : one->id,
                                       .version = ZR_ANY_VERSION};
    }
    if (zr_call_new_multi(task->session, NULL, parts, 2 * count, &call) == ZR_OK)
        zr_verb_request(task, call, false, next);
    else
        stop(task);
}

static void chunk_over(struct zr_task *task)
{
    bool young = zr_tidy_of(task)->young;
    zr_tombstones_forget(zr_tidy_of(task));
    if (young)
        stop(task);
    else
        zr_tidy_next(task);
}

static void delete_each(struct zr_task *task)
{
    struct zr_tidy *tidy = zr_tidy_of(task);
    if (tidy->each < tidy->count)
        delete_some(task, tidy->each++, 1, ZR_STEP(delete_each));
    else
        chunk_over(task);
}

static void first_looked_at(struct zr_task *task)
{
    zr_tidy_of(task)->each = 0;
    if (task->outcome == ZR_OK)
        delete_each(task);
    else
        stop(task); /* another process is removing the same tombstones */
}

static void deleted(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        chunk_over(task);
    else
        zr_queue_read(task, ZR_OP_EXISTS, zr_tidy_of(task)->at[0].path, "",
                      ZR_STEP(first_looked_at));
}

/* ---- 2. Reading ---------------------------------------------------------------------------- */

/* True if the tombstone that was read is to be deleted; then its id is known. */
static bool is_old(struct zr_tidy *tidy, struct zr_tombstone *one, int64_t now_ms, const char *root)
{
    const struct zr_request *read = &one->read->request;
    struct zr_entry entry;
    char id[ZR_ID_PATH_MAX];
    if (read->status != ZR_OK || !zr_item_read(read->data_reply, &entry) || !entry.has_id)
        return false; /* it is gone, or is none */
    bool young = read->stat.ctime_ms > now_ms - REMEMBER_MS;
    tidy->young = tidy->young || young;
    if (young)
        return false;
    zr_id_path(id, zr_entry_id(&entry));
    size_t size = strlen(root) + strlen(id) + 1;
    one->id = zr_alloc(size);
    if (one->id != NULL)
        snprintf(one->id, size, "%s%s", root, id);
    return one->id != NULL;
}

/* Keeps those that are to be deleted. */
static void sift(struct zr_task *task)
{
    struct zr_tidy *tidy = zr_tidy_of(task);
    const struct zr_queue *queue = zr_queue_of(task);
    size_t kept = 0;
    for (size_t i = 0; i < tidy->count; i++) {
        struct zr_tombstone one = tidy->at[i];
        bool old = is_old(tidy, &one, zr_queue_now_ms(queue), queue->znode.path);
        zr_call_free(one.read);
        one.read = NULL;
        if (!old)
            zr_free(one.path);
        tidy->at[i] = (struct zr_tombstone){.read = NULL};
        if (old)
            tidy->at[kept++] = one;
    }
    tidy->count = kept;
}

static void all_read(struct zr_task *task)
{
    sift(task);
    if (zr_tidy_of(task)->count > 0)
        delete_some(task, 0, zr_tidy_of(task)->count, ZR_STEP(deleted));
    else
        chunk_over(task);
}

static void was_read(struct zr_call *call)
{
    struct zr_tidy *tidy = call->owner;
    if (call->request.status == ZR_CONNECTION_LOSS)
        zr_call_again(call);
    else if (--tidy->missing == 0)
        zr_signal_fire(&tidy->all_read, ZR_OK);
}

/* False: memory is exhausted. */
static bool read_one(struct zr_task *task, const char *name)
{
    struct zr_tidy *tidy = zr_tidy_of(task);
    struct zr_tombstone *one = &tidy->at[tidy->count];
    char bucket[ZR_BUCKET_NAME];
    size_t size = strlen(tidy->done->path) + ZR_BUCKET_NAME + strlen(name) + 2;
    one->path = zr_alloc(size);
    if (one->path == NULL)
        return false;
    tidy->count++;
    zr_bucket_name(tidy->buckets[tidy->bucket_at - 1], bucket);
    snprintf(one->path, size, "%s%s/%s", tidy->done->path, bucket, name);
    char *full = zr_queue_full(zr_queue_of(task), one->path, "");
    bool made = full != NULL &&
                zr_call_new_full(task->session, ZR_OP_GET, full, ZR_NO_DATA, &one->read) == ZR_OK;
    zr_free(full);
    if (!made)
        return false;
    tidy->missing++;
    zr_call_start(one->read, was_read, tidy);
    return true;
}

void zr_tombstones_read(struct zr_task *task)
{
    struct zr_tidy *tidy = zr_tidy_of(task);
    size_t end = tidy->item_at + ZR_TOMBSTONES;
    bool made = true;
    tidy->missing = 0;
    zr_signal_init(&tidy->all_read);
    while (made && tidy->item_at < tidy->item_count && tidy->item_at < end)
        made = read_one(task, tidy->items[tidy->item_at++]);
    if (made)
        zr_verb_await(task, &tidy->all_read, ZR_STEP(all_read));
    else
        stop(task);
}
