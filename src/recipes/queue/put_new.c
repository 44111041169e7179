#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/put.h"

/*
 * A task that puts or moves: how it is made of what it puts, started, and freed; or used again for
 * something else (put_all.c, ack_all.c).
 */

/* ---- What is put --------------------------------------------------------------------------- */

static char *copy_text(char **room, struct zr_bytes from)
{
    char *copy = *room;
    memcpy(copy, from.at, from.length);
    copy[from.length] = '\0';
    *room += from.length + 1;
    return copy;
}

static void encode(struct zr_put *put, char **room, size_t i, int64_t attempts, struct zr_bytes id,
                   struct zr_bytes data)
{
    const struct zr_bytes nobody = {"-", 1};
    size_t header = zr_item_header(*room, attempts, put->priority, nobody, id);
    if (data.length > 0)
        memcpy(*room + header, data.at, data.length);
    put->entries[i] = (struct zr_bytes){*room, header + data.length};
    *room += header + data.length;
    if (data.length > put->largest)
        put->largest = data.length;
}

static enum zr_status set_id(struct zr_put *put, char **room, struct zr_bytes id)
{
    if (id.at == NULL)
        return ZR_OK;
    put->id_path = *room;
    put->id_folder = zr_id_path(put->id_path, id);
    *room += strlen(put->id_path) + 1;
    put->said = zr_alloc(ZR_PLACE_MAX);
    return put->said != NULL ? ZR_OK : ZR_NO_MEMORY;
}

/* Divides this memory. Returns where the texts begin. */
static char *divide(struct zr_put *put, void *memory, size_t count)
{
    put->pause_us = 20000;
    put->count = count;
    put->entries = memory;
    return (char *)(put->entries + count);
}

static size_t items_size(const struct zr_put_item *items, size_t count)
{
    size_t size = count * (sizeof(struct zr_bytes) + ZR_HEADER_MAX);
    for (size_t i = 0; i < count; i++)
        size += items[i].data.length;
    return items[0].id.at != NULL ? size + ZR_ID_PATH_MAX : size;
}

static enum zr_status set_items(struct zr_put *put, void *memory, const struct zr_put_item *items,
                                size_t count)
{
    char *room = divide(put, memory, count);
    put->priority = items[0].priority;
    put->delay_us = items[0].delay_us > 0 ? items[0].delay_us : 0;
    put->limited = zr_queue_of(&put->queue_task.znode_task.task)->capacity > 0;
    for (size_t i = 0; i < count; i++)
        encode(put, &room, i, 0, items[i].id, items[i].data);
    return set_id(put, &room, items[0].id);
}

/* ---- A move -------------------------------------------------------------------------------- */

static size_t move_size(const struct zr_append_options *options, struct zr_bytes data)
{
    return sizeof(struct zr_bytes) + ZR_HEADER_MAX + data.length + ZR_ID_PATH_MAX +
           options->from.length + options->claim.length + options->out.length +
           options->put_count.length + options->text.length + 5;
}

static void set_from(struct zr_put *put, char **room, const struct zr_append_options *options)
{
    put->from.at = copy_text(room, options->from);
    if (options->out.at != NULL)
        put->out.at = copy_text(room, options->out);
    if (options->claim.at != NULL)
        put->claim.at = copy_text(room, options->claim);
    if (options->put_count.at != NULL)
        put->put_count.at = copy_text(room, options->put_count);
    if (options->text.at != NULL)
        put->text = (struct zr_bytes){copy_text(room, options->text), options->text.length};
    put->version = (int32_t)options->version;
    put->held = options->held;
    put->once = options->once;
    put->doubted = options->doubted;
    put->removed = options->removed;
    put->id_there = true;
    snprintf(put->tag, sizeof(put->tag), "%s", options->tag.at);
}

static enum zr_status set_move(struct zr_put *put, void *memory,
                               const struct zr_append_options *options, struct zr_bytes data)
{
    struct zr_queue *queue = zr_queue_of(&put->queue_task.znode_task.task);
    char *room = divide(put, memory, 1);
    put->priority = options->priority;
    put->due_ms = options->due;
    put->delay_us = options->delay_us;
    encode(put, &room, 0, options->attempts, options->id, data);
    put->largest = 0;
    if (options->from.at != NULL)
        set_from(put, &room, options);
    put->count = options->lane.at != NULL || options->delay_us > 0;
    if (options->lane.at != NULL) {
        put->lane = zr_queue_lane(queue, options->lane.at);
        if (put->lane == NULL)
            return ZR_NO_MEMORY;
    }
    return put->count > 0 ? set_id(put, &room, options->id) : ZR_OK;
}

/* ---- Making, starting, renewing, freeing --------------------------------------------------- */

static void free_parts(struct zr_put *put)
{
    zr_put_end_flight(put);
    zr_transaction_fini(&put->transaction);
    zr_free(put->tombstone);
    zr_free(put->asked);
    zr_free(put->said);
    zr_free(put->block);
}

void zr_put_free(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    if (put->errand != NULL)
        zr_errand_over(put->errand, task->status);
    free_parts(put);
    zr_queue_task_free(task);
}

/* gives: a task with so much memory behind the struct. */
static enum zr_status new_put(struct zr_object *queue, size_t memory, struct zr_put **out)
{
    struct zr_znode_task *znode_task;
    enum zr_status status = zr_znode_task_new(sizeof(struct zr_put) + memory, queue, &znode_task);
    if (status == ZR_OK)
        *out = zr_put_of(&znode_task->task);
    return status;
}

/* Frees it if `status` is a failure. */
static enum zr_status made(struct zr_put *put, enum zr_status status)
{
    if (status != ZR_OK)
        zr_put_free(&put->queue_task.znode_task.task);
    return status;
}

enum zr_status zr_put_new(struct zr_object *queue, const struct zr_put_item *item,
                          struct zr_put **out)
{
    enum zr_status status = new_put(queue, items_size(item, 1), out);
    return status == ZR_OK ? made(*out, set_items(*out, *out + 1, item, 1)) : status;
}

enum zr_status zr_put_new_move(struct zr_object *queue, const struct zr_append_options *options,
                               struct zr_bytes data, struct zr_put **out)
{
    enum zr_status status = new_put(queue, move_size(options, data), out);
    return status == ZR_OK ? made(*out, set_move(*out, *out + 1, options, data)) : status;
}

void zr_put_start(struct zr_put *put, const struct zr_task_kind *kind, int64_t limit_us,
                  struct zr_next first)
{
    struct zr_znode_task *znode_task = &put->queue_task.znode_task;
    const struct zr_session *session = znode_task->znode->session;
    put->limit_us = limit_us;
    put->deadline_us = zr_engine_now_us(session->engine) + limit_us;
    struct zr_arg limit = {.given = true,
                           .integer = limit_us >= 0 ? limit_us : zr_session_patience_us(session)};
    zr_znode_task_start(znode_task, kind, &limit, first);
}

void zr_put_run(struct zr_put *put, const struct zr_task_kind *kind, const char *subject)
{
    zr_put_start(put, kind, -1, ZR_STEP(zr_put_check));
    put->queue_task.znode_task.task.subject = subject;
}

/* Only what belongs to the whole task is kept. */
static enum zr_status renew(struct zr_put *put, size_t memory)
{
    free_parts(put);
    *put = (struct zr_put){.queue_task = put->queue_task,
                           .then = put->then,
                           .limit_us = put->limit_us,
                           .deadline_us = put->deadline_us};
    put->block = zr_alloc(memory);
    return put->block != NULL ? ZR_OK : ZR_NO_MEMORY;
}

enum zr_status zr_put_renew(struct zr_put *put, const struct zr_put_item *items, size_t count)
{
    enum zr_status status = renew(put, items_size(items, count));
    return status == ZR_OK ? set_items(put, put->block, items, count) : status;
}

enum zr_status zr_put_renew_move(struct zr_put *put, const struct zr_append_options *options,
                                 struct zr_bytes data)
{
    enum zr_status status = renew(put, move_size(options, data));
    return status == ZR_OK ? set_move(put, put->block, options, data) : status;
}
