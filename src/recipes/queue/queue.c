#include "recipes/queue/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/queue/claims.h"
#include "recipes/queue/put.h"

/*
 * The queue's engine: the object that puts (put.h), gives (claims.h), moves, ends and counts items.
 * The class that users see is in Lua (lua/zkrecipes/recipes/queue), and passes its calls on to the
 * methods here.
 */

/* ---- Lanes --------------------------------------------------------------------------------- */

/* gives: the user's path of the lane. */
static char *lane_path(const struct zr_queue *queue, const char *name)
{
    const char *root = queue->znode.path;
    const char *folder = zr_lane_priority(name) >= 0 ? "/lanes" : "";
    size_t size = strlen(root) + strlen(folder) + strlen(name) + 2;
    char *path = zr_alloc(size);
    if (path != NULL)
        snprintf(path, size, "%s%s/%s", root, folder, name);
    return path;
}

static void free_lane(struct zr_lane *lane)
{
    zr_free(lane->buckets);
    zr_free(lane->path);
    zr_free(lane);
}

static struct zr_lane *new_lane(struct zr_queue *queue, const char *name)
{
    struct zr_lane *lane = zr_alloc(sizeof(*lane));
    if (lane == NULL)
        return NULL;
    lane->tail = lane->last = lane->watched = lane->creates = -1;
    zr_signal_init(&lane->moved);
    snprintf(lane->name, sizeof(lane->name), "%s", name);
    lane->path = lane_path(queue, name);
    if (lane->path != NULL && zr_table_add(&queue->lanes, &lane->node, lane->name) == ZR_OK)
        return lane;
    free_lane(lane);
    return NULL;
}

struct zr_lane *zr_queue_lane(struct zr_queue *queue, const char *name)
{
    struct zr_node *node = zr_table_find(&queue->lanes, name);
    return node != NULL ? ZR_HOLDER(node, struct zr_lane, node) : new_lane(queue, name);
}

/* ---- Time ---------------------------------------------------------------------------------- */

/* The server's clock is ahead of that by the time that the answer took, and never behind. */
void zr_queue_tell(struct zr_queue *queue, int64_t mtime_ms)
{
    queue->told_us = zr_engine_now_us(queue->znode.session->engine);
    queue->server_ms = mtime_ms;
}

void zr_queue_ask_time(struct zr_task *task, struct zr_next next)
{
    const struct zr_request what = {.op = ZR_OP_SET,
                                    .path = zr_queue_of(task)->znode.full,
                                    .data = {"", 0},
                                    .version = ZR_ANY_VERSION};
    zr_verb_ask(task, &what, true, next);
}

int64_t zr_queue_age_us(const struct zr_queue *queue)
{
    if (queue->told_us < 0)
        return INT64_MAX;
    return zr_engine_now_us(queue->znode.session->engine) - queue->told_us;
}

int64_t zr_queue_now_ms(const struct zr_queue *queue)
{
    return queue->server_ms + zr_queue_age_us(queue) / 1000;
}

/* How many items the process has claimed, how many callers wait in the line, how many znodes are
   left out because they cannot be read; and, for specs, how many items may be gone because the
   answer to a take was lost, or because it came too late for its caller, and how many items are in
   the stock. */
static enum zr_status counts(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    const struct zr_consumer *consumer = &((struct zr_queue *)self)->consumer;
    int64_t unreadable = 0;
    (void)args;
    ZR_LIST_EACH (link, &consumer->unreadable)
        unreadable++;
    sink->integer(sink, NULL, (int64_t)consumer->claims);
    sink->integer(sink, NULL, (int64_t)consumer->waiting);
    sink->integer(sink, NULL, unreadable);
    sink->integer(sink, NULL, consumer->missing);
    sink->integer(sink, NULL, (int64_t)consumer->stock_count);
    return ZR_OK;
}

/* ---- Paths --------------------------------------------------------------------------------- */

char *zr_queue_full(const struct zr_queue *queue, const char *path, const char *more)
{
    const char *prefix = queue->znode.session->namespace;
    size_t size = strlen(prefix) + strlen(path) + strlen(more) + 1;
    char *full = zr_alloc(size);
    if (full != NULL)
        snprintf(full, size, "%s%s%s", prefix, path, more);
    return full;
}

void zr_queue_read(struct zr_task *task, enum zr_op op, const char *path, const char *more,
                   struct zr_next next)
{
    char *full = zr_queue_full(zr_queue_of(task), path, more);
    if (full != NULL)
        zr_verb_read(task, op, full, false, next);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
    zr_free(full);
}

/* ---- The class ----------------------------------------------------------------------------- */

static void free_queue(struct zr_object *self)
{
    struct zr_queue *queue = (struct zr_queue *)self;
    struct zr_node *node;
    zr_consumer_fini(queue);
    while ((node = zr_table_any(&queue->lanes)) != NULL) {
        zr_table_remove(&queue->lanes, node);
        free_lane(ZR_HOLDER(node, struct zr_lane, node));
    }
    zr_table_fini(&queue->lanes);
    zr_room_part(queue);
    zr_znode_free(self);
}

static const struct zr_method methods[] = {
    {.name = "claim", .args = "t?", .start = zr_queue_start_claim, .inner = true},
    {.name = "take", .args = "t?", .start = zr_queue_start_take, .inner = true},
    {.name = "ack_all", .args = "h", .start = zr_queue_start_ack_all, .inner = true},
    {.name = "peek", .args = "", .start = zr_queue_start_peek, .inner = true},
    {.name = "remove", .args = "d", .start = zr_queue_start_remove, .inner = true},
    {.name = "redrive", .args = "i?", .start = zr_queue_start_redrive, .inner = true},
    {.name = "counts", .args = "", .call = counts, .inner = true},
    {.name = "put",
     .args = "do?",
     .options = zr_put_options,
     .options_size = sizeof(struct zr_put_item),
     .start = zr_queue_start_put,
     .inner = true},
    {.name = "put_all",
     .args = "rt?",
     .options = zr_put_all_options,
     .options_size = sizeof(struct zr_put_item),
     .start = zr_queue_start_put_all,
     .inner = true},
    {.name = "size", .args = "t?", .start = zr_queue_start_size, .inner = true},
    {.name = "dead_size", .args = "", .start = zr_queue_start_dead_size, .inner = true},
    {.name = "walk", .args = "i?", .make = zr_queue_make_walk, .inner = true},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", zr_znode_get_path}, {"session", zr_znode_get_session}, {NULL, NULL}};

const struct zr_class zr_queue_class = {"queue", methods, properties, zr_attend_forget, free_queue};

/* queue(path, bucket size, attempts, prefetch [, capacity]) */
static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    enum zr_status status =
        zr_znode_new(sizeof(struct zr_queue), &zr_queue_class, session, args, object);
    if (status != ZR_OK)
        return status;
    struct zr_queue *queue = (struct zr_queue *)*object;
    queue->told_us = -1;
    queue->bucket_size = args->at[1].integer;
    zr_consumer_init(queue, args->at[2].integer, args->at[3].integer);
    queue->capacity = args->at[4].integer;
    status = zr_room_join(queue);
    if (status != ZR_OK)
        zr_object_unref(*object);
    return status;
}

const struct zr_recipe zr_queue_recipe = {
    .name = "queue", .args = "piiii?", .inner = true, .make = make};
