#include "recipes/queue/put.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * Puts items without an id and without a delay: one create, or a transaction of nothing but creates
 * for a list. The transaction of append.c checks that the bucket takes items. A plain create
 * cannot, so its name tells: the server numbers the znodes of a bucket, and one that is named as
 * plain ("-p-") and has a number at or beyond the size of a bucket is void. Everybody can see that
 * from the name alone, and nobody ever takes a void znode for an item.
 * 1. Create the znode in the lane's last bucket. Its number is below the size: done.
 * 2. The number is the last one below the size, or beyond it: the bucket is full: begin the next
 *    one (next_bucket.c). It never begins earlier. So all items of a bucket were put before those
 *    of the next one.
 * 3. The znode is void: put the item by the transaction of append.c, which also deletes the void
 *    znode.
 *
 * The znodes of a list get consecutive numbers. Each name says how many follow in the same list
 * (zr_put_tag), so that all of them are void if the last one is: a list is there, or it is not.
 *
 * A process does not send creates for which its own ones leave no room: they wait until the next
 * bucket is there. A list for which there is no room, though nothing is in flight, goes by the
 * transaction of append.c. So only the creates of several processes at the same moment become void.
 *
 * What can go wrong: the bucket was emptied and deleted, or does not exist yet: read the lane's
 * tail. The answer is lost: list the bucket; a znode with our tag is the item, or it is void, and 3
 * follows. The producer dies between 2 and 3: its put has not returned, and consumers delete the
 * void znode (look.c). They may also delete it before 3: then the transaction is refused, and 1
 * follows.
 */

bool zr_put_is_plain(const struct zr_put *put)
{
    return put->count > 0 && put->id_path == NULL && put->due_ms == 0 && put->from.at == NULL &&
           put->voided[0] == '\0';
}

/* ---- Room ---------------------------------------------------------------------------------- */

void zr_lane_set_tail(struct zr_lane *lane, int64_t number)
{
    lane->tail = number;
    lane->last = -1;
    lane->flight = 0;
    lane->epoch++;
    zr_signal_fire(&lane->moved, ZR_OK);
}

bool zr_lane_has_room(const struct zr_queue *queue, const struct zr_lane *lane, size_t count)
{
    return lane->last + (int64_t)(lane->flight + count) < queue->bucket_size;
}

void zr_put_start_flight(struct zr_put *put)
{
    put->flies = true;
    put->epoch = put->lane->epoch;
    put->lane->flight += put->count;
}

void zr_put_end_flight(struct zr_put *put)
{
    struct zr_lane *lane = put->lane;
    if (put->flies && put->epoch == lane->epoch && (lane->flight -= put->count) == 0)
        zr_signal_fire(&lane->moved, ZR_OK);
    put->flies = false;
}

void zr_lane_filled(struct zr_queue *queue, struct zr_lane *lane, int64_t bucket, int64_t number)
{
    if (lane->tail == bucket && number > lane->last)
        lane->last = number;
    if (number >= queue->bucket_size - 1)
        zr_lane_roll(queue, lane, bucket);
}

/* ---- The creates --------------------------------------------------------------------------- */

/* gives: the paths, one behind the other, each in so many bytes; or null. */
static char *new_paths(const struct zr_put *put, size_t size)
{
    char *paths = zr_alloc(put->count * size), bucket[ZR_BUCKET_NAME], tag[ZR_ITEM_TAG];
    zr_bucket_name(put->bucket, bucket);
    for (size_t i = 0; paths != NULL && i < put->count; i++) {
        zr_put_tag(put, i, tag);
        snprintf(paths + i * size, size, "%s%s/%s-p-", put->lane->path, bucket, tag);
    }
    return paths;
}

static enum zr_status new_create(const struct zr_put *put, const char *path, struct zr_call **call)
{
    struct zr_session *session = put->queue_task.znode_task.task.session;
    enum zr_status status = zr_call_new(session, ZR_OP_CREATE, path, put->entries[0], call);
    if (status == ZR_OK)
        (*call)->request.mode = ZR_PERSISTENT_SEQUENTIAL;
    return status;
}

static enum zr_status new_list(const struct zr_put *put, const char *paths, size_t size,
                               struct zr_call **call)
{
    struct zr_session *session = put->queue_task.znode_task.task.session;
    struct zr_request *parts = zr_alloc(put->count * sizeof(parts[0]));
    if (parts == NULL)
        return ZR_NO_MEMORY;
    for (size_t i = 0; i < put->count; i++)
        parts[i] = (struct zr_request){.op = ZR_OP_CREATE,
                                       .path = paths + i * size,
                                       .data = put->entries[i],
                                       .mode = ZR_PERSISTENT_SEQUENTIAL};
    enum zr_status status = zr_call_new_multi(session, NULL, parts, put->count, call);
    zr_free(parts);
    return status;
}

enum zr_status zr_put_new_creates(struct zr_put *put, struct zr_call **call)
{
    size_t size = strlen(put->lane->path) + ZR_BUCKET_NAME + ZR_ITEM_TAG + 8;
    char *paths = new_paths(put, size);
    if (paths == NULL)
        return ZR_NO_MEMORY;
    enum zr_status status =
        put->count == 1 ? new_create(put, paths, call) : new_list(put, paths, size, call);
    zr_free(paths);
    return status;
}

/* Of a list: any znode, here the first. If the listing was read, in_bucket has noted the name. */
static void note(struct zr_task *task)
{
    const struct zr_request *answer = &task->call->request;
    struct zr_put *put = zr_put_of(task);
    if (answer->op == ZR_OP_CREATE)
        zr_queue_tell(zr_queue_of(task), answer->stat.mtime_ms);
    else if (answer->op == ZR_OP_MULTI)
        answer = &answer->parts[0];
    else
        return;
    snprintf(put->created, sizeof(put->created), "%s", strrchr(answer->created, '/') + 1);
}

static void put_again(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    memcpy(put->voided, put->created, sizeof(put->voided));
    put->voided_bucket = put->bucket;
    put->created[0] = '\0';
    zr_put_append(task);
}

static void created(struct zr_task *task)
{
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_put *put = zr_put_of(task);
    note(task);
    int64_t last = zr_item_number(put->created) + zr_item_following(put->created);
    zr_lane_filled(queue, put->lane, put->bucket, last);
    if (zr_is_void(put->created, queue->bucket_size)) {
        put_again(task);
        return;
    }
    zr_consumer_put(queue, put->lane);
    zr_put_end(task);
}

void zr_put_create_answered(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    zr_put_end_flight(put);
    if (task->outcome == ZR_OK)
        created(task);
    else if (task->outcome == ZR_NO_NODE && put->missing++ < ZR_MISSING_MAX)
        zr_put_bucket_missing(task);
    else
        zr_verb_fail(task, task->outcome);
}
