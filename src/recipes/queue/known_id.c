#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/put.h"

/*
 * A put finds the znode of its id:
 * 1. Read it. It names an item: the id is known. It names a tombstone: the id is known until the
 *    tombstone is a minute old, by the server's clock, unless the item was removed.
 * 2. The id is not known: find the tombstone, and put the item in a transaction that also deletes
 *    the tombstone and writes the id's znode. The name of a tombstone is never used again, so the
 *    transaction fails if another process was faster.
 *
 * tidy.c has the whole story: how tombstones come and go.
 *
 * What can go wrong: another process puts or removes the id meanwhile: look again. The tombstone is
 * gone, but not the id's znode: another process deletes both now, or the tombstone was deleted by
 * hand.
 */

#define REMEMBER_MS 60000
#define EXACT_US 10000000 /* so long the local clock may carry on a time that a server told */
#define ROUNDS 20

static void judge_age(struct zr_task *task);

/* ---- What the znode says ------------------------------------------------------------------- */

bool zr_put_says_ours(struct zr_put *put, struct zr_bytes said)
{
    size_t length = strlen(put->tag);
    return said.length > length && said.at[said.length - length - 1] == ' ' &&
           memcmp(said.at + said.length - length, put->tag, length) == 0;
}

static bool is_lane(const char *name)
{
    return strcmp(name, "dead") == 0 || strcmp(name, "later") == 0 || zr_lane_priority(name) >= 0;
}

static bool is_removed(const struct zr_put *put)
{
    return strcmp(put->place.lane, "removed") == 0;
}

/* A text that is not ours also means that the id is known. */
static bool names_tombstone(struct zr_put *put, struct zr_bytes said)
{
    return zr_place_read(said, put->said, &put->place) && !is_lane(put->place.lane) &&
           (is_removed(put) || strcmp(put->place.lane, "done") == 0);
}

/* ---- The tombstone ------------------------------------------------------------------------- */

static void settled(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        zr_put_append(task);
    else
        zr_verb_fail(task, task->outcome);
}

/* The same znode twice without a tombstone: a tombstone and its id's znode change together. */
static void no_tombstone(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    if (put->said_zxid == put->alone) {
        zr_task_explain(task,
                        "the tombstone of the id '%s' was deleted, but not the znode of the id; "
                        "delete %s%s too, then put again",
                        put->id_path + put->id_folder + 1, zr_queue_of(task)->znode.path,
                        put->id_path);
        zr_verb_fail(task, ZR_CONFLICT);
        return;
    }
    put->alone = put->said_zxid;
    put->id_there = false;
    zr_queue_read(task, ZR_OP_SYNC, zr_queue_of(task)->znode.path, "", ZR_STEP(settled));
}

static bool keep_tombstone(struct zr_put *put, const char *root, const char *name)
{
    char bucket[ZR_BUCKET_NAME];
    size_t size = strlen(root) + ZR_BUCKET_NAME + strlen(name) + 8;
    zr_bucket_name(put->place.bucket, bucket);
    put->tombstone = zr_alloc(size);
    if (put->tombstone == NULL)
        return false;
    strcat(strcpy(put->tombstone, root), "/done");
    strcat(strcat(strcat(put->tombstone, bucket), "/"), name);
    return true;
}

static void found(struct zr_task *task, const char *name)
{
    struct zr_put *put = zr_put_of(task);
    put->alone = 0;
    put->id_there = true;
    if (keep_tombstone(put, zr_queue_of(task)->znode.path, name))
        zr_put_append(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void listed(struct zr_task *task)
{
    const struct zr_names *names = task->outcome == ZR_OK ? task->call->request.names : NULL;
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    for (size_t i = 0; names != NULL && i < names->count; i++) {
        if (zr_item_has_tag(names->at[i], zr_put_of(task)->place.tag)) {
            found(task, names->at[i]);
            return;
        }
    }
    no_tombstone(task);
}

static void unknown(struct zr_task *task)
{
    char path[8 + ZR_BUCKET_NAME] = "/done", bucket[ZR_BUCKET_NAME];
    if (zr_put_of(task)->full) {
        zr_put_wait_for_room(task);
        return;
    }
    strcat(path, zr_bucket_name(zr_put_of(task)->place.bucket, bucket));
    zr_queue_read(task, ZR_OP_CHILDREN, zr_queue_of(task)->znode.path, path, ZR_STEP(listed));
}

/* ---- Is it known? -------------------------------------------------------------------------- */

static void known(struct zr_task *task)
{
    zr_put_of(task)->was_known = true;
    zr_put_end(task);
}

static void judge_age(struct zr_task *task)
{
    const struct zr_put *put = zr_put_of(task);
    if (zr_queue_now_ms(zr_queue_of(task)) - put->said_ms < REMEMBER_MS)
        known(task);
    else
        unknown(task);
}

static void read_done(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    const struct zr_request *answer = &task->call->request;
    put->said_zxid = answer->stat.mzxid;
    put->said_ms = answer->stat.mtime_ms;
    if (!names_tombstone(put, answer->data_reply))
        known(task);
    else if (is_removed(put))
        unknown(task);
    else if (zr_queue_age_us(zr_queue_of(task)) > EXACT_US)
        zr_put_ask_time(task, judge_age);
    else
        judge_age(task);
}

static void id_read(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    zr_free(put->tombstone);
    put->tombstone = NULL;
    put->id_there = false;
    if (task->outcome == ZR_OK)
        read_done(task);
    else if (task->outcome != ZR_NO_NODE)
        zr_verb_fail(task, task->outcome);
    else if (put->full)
        zr_put_wait_for_room(task);
    else
        zr_put_append(task);
}

void zr_put_look_at_id(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    if (!put->full && put->rounds++ == ROUNDS) {
        zr_task_explain(task, "other clients keep putting and removing the id '%s'; try again",
                        put->id_path + put->id_folder + 1);
        zr_verb_fail(task, ZR_CONFLICT);
        return;
    }
    zr_queue_read(task, ZR_OP_GET, zr_queue_of(task)->znode.path, put->id_path, ZR_STEP(id_read));
}
