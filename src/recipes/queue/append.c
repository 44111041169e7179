#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/ephemerals.h"
#include "core/names.h"
#include "recipes/queue/claims.h"
#include "recipes/queue/put.h"

/*
 * Sends a put: creates (plain.c), or one transaction. The transaction puts items into a bucket, all
 * or none; or moves an item there from another place; or ends an item; or gives it back to its
 * place (parts.c):
 *
 *     check   the bucket is not sealed (except for delayed items)
 *     create  an item, and
 *     set     its lane's `in`, which wakes consumers; these two for each item
 *     delete  the tombstone that had this id; or the void znodes of the items (plain.c)
 *     delete  the claim; or create it and delete it, which fails if there is one
 *     delete  the item that is moved, or ends; if it is given back: check or set it, and set `in`
 *     set     its lane's `out`, if that is not the lane of a priority
 *     set     the znode of its id, or create
 *
 * If it is refused, the server says for which part, and that says what to do.
 *
 * What can go wrong: the bucket is sealed, or was emptied and deleted: read the lane's tail. A
 * directory does not exist yet: make it. The id's znode exists: look at it (known_id.c). The item
 * that is moved has changed: fail. The answer is lost: an item of ours is in the bucket if the
 * transaction was done, unless other processes have acked or moved all of them by then; if there is
 * an id, its znode has our tag; a moved item is gone; an item that was given back has no claim.
 */

static bool is_delayed(const struct zr_put *put)
{
    return put->due_ms > 0;
}

bool zr_put_may_be_sealed(const struct zr_put *put)
{
    return put->lane != NULL && !is_delayed(put);
}

/* ---- Lost answers -------------------------------------------------------------------------- */

/* All items of a list were put, or none: one that is still there tells. Notes its name. A void
   znode tells that the create was done, but not the transaction, which puts the item again. */
static bool in_bucket(struct zr_task *task, const struct zr_request *answer)
{
    struct zr_put *put = zr_put_of(task);
    const struct zr_names *names = answer->status == ZR_OK ? answer->names : NULL;
    int64_t size = zr_queue_of(task)->bucket_size;
    for (size_t i = 0; names != NULL && i < names->count; i++) {
        const char *name = names->at[i];
        if (!zr_item_in_list(name, put->tag) || (!put->plain && zr_is_void(name, size)))
            continue;
        snprintf(put->created, sizeof(put->created), "%s", name);
        return true;
    }
    return false;
}

static bool has_id(struct zr_task *task, const struct zr_request *answer)
{
    return answer->status == ZR_OK && zr_put_says_ours(zr_put_of(task), answer->data_reply);
}

/* Our claim was deleted together with the item, and no answer has told so. */
static void claim_gone(struct zr_task *task)
{
    const struct zr_put *put = zr_put_of(task);
    char *full = put->held ? zr_queue_full(zr_queue_of(task), put->claim.at, "") : NULL;
    if (full != NULL)
        zr_ephemerals_gone(task->session, full);
    zr_free(full);
}

static bool is_moved(struct zr_task *task, const struct zr_request *answer)
{
    zr_put_of(task)->doubted = true;
    if (answer->status == ZR_NO_NODE)
        claim_gone(task);
    return answer->status == ZR_NO_NODE;
}

/* Sets how a lost answer is found out. An item that is given back has no claim afterwards; if it
   has another one, the transaction will fail, and not_as_expected knows why. */
static enum zr_status prepare(struct zr_put *put)
{
    const struct zr_queue *queue = zr_queue_of(&put->queue_task.znode_task.task);
    struct zr_transaction *transaction = &put->transaction;
    char bucket[ZR_BUCKET_NAME];
    zr_free(put->asked);
    if (put->put_count.at != NULL)
        put->asked = zr_queue_full(queue, put->claim.at, "");
    else if (put->from.at != NULL)
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

void zr_put_bucket_missing(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    if (is_delayed(put)) {
        zr_put_make_slot(task);
        return;
    }
    if (put->lane->tail == put->bucket)
        zr_lane_set_tail(put->lane, -1);
    zr_put_append(task);
}

/* A consumer has deleted the void znode. */
static void void_missing(struct zr_task *task)
{
    zr_put_of(task)->voided[0] = '\0';
    zr_put_append(task);
}

static void was_done_before(struct zr_task *task)
{
    claim_gone(task);
    zr_put_end(task);
}

static void looked_for(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        was_done_before(task);
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
   done late: then the item is gone. If it was to be given back, it is not ours any more, in any
   case. */
static void not_as_expected(struct zr_task *task, enum zr_status status)
{
    const struct zr_put *put = zr_put_of(task);
    if (put->doubted && put->put_count.at != NULL)
        was_done_before(task);
    else if (put->doubted)
        zr_queue_read(task, ZR_OP_SYNC, zr_queue_of(task)->znode.path, "", ZR_STEP(settled));
    else
        zr_verb_fail(task, status);
}

/* part: the index of the part of the transaction whose znode is missing. */
static void missing(struct zr_task *task, size_t part)
{
    struct zr_put *put = zr_put_of(task);
    const struct zr_request *multi = &task->call->request;
    if (++put->missing > ZR_MISSING_MAX)
        zr_verb_fail(task, ZR_NO_NODE);
    else if (part < put->first_part + 2 * put->count)
        zr_put_bucket_missing(task);
    else if (put->voided[0] != '\0')
        void_missing(task);
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
        zr_lane_set_tail(put->lane, -1);
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
    zr_consumer_put(queue, put->lane);
    snprintf(put->created, sizeof(put->created), "%s", name != NULL ? name + 1 : "");
    if (!is_delayed(put))
        zr_lane_filled(queue, put->lane, put->bucket, zr_item_number(path));
}

static void put_done(struct zr_task *task)
{
    const struct zr_request *multi = &task->call->request;
    if (multi->op == ZR_OP_MULTI && zr_put_of(task)->count > 0)
        learn(task, multi);
    zr_put_end(task);
}

static void answered(struct zr_task *task)
{
    zr_put_end_flight(zr_put_of(task));
    if (task->outcome == ZR_OK)
        put_done(task);
    else
        refused(task);
}

/* ---- The step ------------------------------------------------------------------------------ */

static void send(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    struct zr_call *call;
    if (put->lane != NULL)
        put->bucket = is_delayed(put) ? put->due_ms / ZR_SLOT_MS : put->lane->tail;
    enum zr_status status = prepare(put);
    if (status == ZR_OK)
        status = put->plain ? zr_put_new_creates(put, &call) : zr_put_new_multi(put, &call);
    if (status == ZR_OK && zr_put_may_be_sealed(put))
        zr_put_start_flight(put);
    if (status != ZR_OK)
        zr_verb_fail(task, status);
    else if (put->once)
        zr_verb_request(task, call, false, ZR_STEP(answered));
    else
        zr_verb_transact(task, call, &put->transaction,
                         put->plain ? ZR_STEP(zr_put_create_answered) : ZR_STEP(answered));
}

void zr_put_append(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    if (zr_put_may_be_sealed(put) && put->lane->tail < 0) {
        zr_put_find_tail(task);
        return;
    }
    bool plain = zr_put_is_plain(put);
    bool room = !plain || zr_lane_has_room(zr_queue_of(task), put->lane, put->count);
    if (!room && put->lane->flight > 0 && !task->tries) {
        zr_verb_await(task, &put->lane->moved, ZR_STEP(zr_put_append));
        return;
    }
    put->plain = plain && (room || put->count == 1);
    send(task);
}
