#include <string.h>

#include "core/alloc.h"
#include "core/ephemerals.h"
#include "recipes/queue/claims.h"

/*
 * How many claims a process may still have of a queue. The handles of one path share the limit,
 * whatever their options are. All queues of a session share the bytes of its ephemeral znodes, with
 * everything else that it has (core/ephemerals.h).
 */

#define NAME_MAX_BYTES (ZR_ITEM_TAG + 40) /* of a claim's path, behind the queue's */

/* The handles of one path. */
struct zr_queue_room {
    struct zr_node node; /* in session->queues */
    struct zr_list handles;
    char path[];
};

static struct zr_queue_room *new_room(struct zr_session *session, const char *path)
{
    struct zr_queue_room *room = zr_alloc(sizeof(*room) + strlen(path) + 1);
    if (room == NULL)
        return NULL;
    strcpy(room->path, path);
    zr_list_init(&room->handles);
    if (zr_table_add(&session->queues, &room->node, room->path) == ZR_OK)
        return room;
    zr_free(room);
    return NULL;
}

enum zr_status zr_room_join(struct zr_queue *queue)
{
    struct zr_session *session = queue->znode.session;
    struct zr_node *node = zr_table_find(&session->queues, queue->znode.full);
    queue->room = node != NULL ? ZR_HOLDER(node, struct zr_queue_room, node)
                               : new_room(session, queue->znode.full);
    if (queue->room == NULL)
        return ZR_NO_MEMORY;
    zr_list_append(&queue->room->handles, &queue->in_room);
    return ZR_OK;
}

void zr_room_part(struct zr_queue *queue)
{
    struct zr_queue_room *room = queue->room;
    zr_unlink(&queue->in_room);
    if (room == NULL || !zr_list_empty(&room->handles))
        return;
    zr_table_remove(&queue->znode.session->queues, &room->node);
    zr_free(room);
}

size_t zr_room_used(const struct zr_queue *queue)
{
    size_t used = 0;
    ZR_LIST_EACH (link, &queue->room->handles) {
        const struct zr_consumer *consumer = &ZR_HOLDER(link, struct zr_queue, in_room)->consumer;
        used += consumer->claims + consumer->working + consumer->waiting;
    }
    return used;
}

size_t zr_room_for_stock(const struct zr_queue *queue)
{
    size_t bytes = zr_ephemeral_bytes(strlen(queue->znode.full) + NAME_MAX_BYTES);
    size_t fit = zr_ephemerals_room(queue->znode.session) / bytes;
    size_t used = zr_room_used(queue), left = used < ZR_CLAIMS_MAX ? ZR_CLAIMS_MAX - used : 0;
    return left < fit ? left : fit;
}
