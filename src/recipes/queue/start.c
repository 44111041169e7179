#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/put.h"

/*
 * The methods that put: how a task is made of their arguments, and how it ends.
 *
 * put(data [, priority [, id [, delay [, timeout]]]])  true, or true, "known"
 * put_all(list of data [, priority [, timeout]])   how many items were put: the first ones
 */

/* ---- The end ------------------------------------------------------------------------------- */

/* Without a limit of the caller, no limit that passes is a timeout. */
bool zr_put_asking(const struct zr_task *task)
{
    const struct zr_znode_task *znode_task = ZR_HOLDER(task, struct zr_znode_task, task);
    const struct zr_queue_task *queue_task =
        ZR_HOLDER(znode_task, struct zr_queue_task, znode_task);
    const struct zr_put *put = ZR_HOLDER(queue_task, struct zr_put, queue_task);
    return !put->full && (put->limit_us < 0 || task->asking);
}

void zr_put_clean(struct zr_task *task)
{
    if (zr_put_of(task)->full && task->status == ZR_TIMEOUT) {
        zr_put_explain_full(task);
        task->status = ZR_FULL;
    }
    zr_task_finish(task, ZR_OK);
}

void zr_put_free(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    if (put->errand != NULL)
        zr_errand_over(put->errand, task->status);
    zr_put_end_flight(put);
    zr_transaction_fini(&put->transaction);
    zr_free(put->tombstone);
    zr_free(put->asked);
    zr_free(put->said);
    zr_queue_task_free(task);
}

static void emit_put(struct zr_task *task, struct zr_sink *sink)
{
    sink->boolean(sink, NULL, true);
    if (zr_put_of(task)->was_known)
        zr_emit_string(sink, NULL, "known");
}

static void emit_count(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, (int64_t)zr_put_of(task)->count);
}

#define KIND(called, emit)                                                                         \
    {                                                                                              \
        .name = (called), .clean = zr_put_clean, .asking = zr_put_asking, .results = (emit),       \
        .free = zr_put_free                                                                        \
    }
static const struct zr_task_kind put_kind = KIND("queue:put", emit_put);
static const struct zr_task_kind list_kind = KIND("queue:put_all", emit_count);
static const struct zr_task_kind errand_kind = KIND("queue:move", NULL);

/* ---- Making -------------------------------------------------------------------------------- */

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

static size_t room_for(const struct zr_bytes *list, size_t count)
{
    size_t room = count * (sizeof(struct zr_bytes) + ZR_HEADER_MAX);
    for (size_t i = 0; i < count; i++)
        room += list[i].length;
    return room;
}

/* gives: a task with room for these items, and for `more` bytes of text. */
static enum zr_status new_put(struct zr_object *self, const struct zr_bytes *list, size_t count,
                              size_t more, struct zr_put **out, char **room)
{
    struct zr_znode_task *znode_task;
    size_t size = sizeof(struct zr_put) + room_for(list, count) + more;
    enum zr_status status = zr_znode_task_new(size, self, &znode_task);
    if (status != ZR_OK)
        return status;
    struct zr_put *put = *out = zr_put_of(&znode_task->task);
    put->count = count;
    put->entries = (struct zr_bytes *)(put + 1);
    put->limit_us = -1;
    put->pause_us = 20000;
    *room = (char *)(put->entries + count);
    return ZR_OK;
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

static enum zr_status run(struct zr_put *put, enum zr_status status, int64_t limit_us,
                          const struct zr_task_kind *kind, struct zr_next first,
                          struct zr_task **task)
{
    struct zr_znode_task *znode_task = &put->queue_task.znode_task;
    const struct zr_session *session = znode_task->znode->session;
    if (status != ZR_OK) {
        zr_put_free(&znode_task->task);
        return status;
    }
    put->limit_us = limit_us;
    put->deadline_us = zr_engine_now_us(session->engine) + limit_us;
    struct zr_arg limit = {.given = true,
                           .integer = limit_us >= 0 ? limit_us : zr_session_patience_us(session)};
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, kind, &limit, first);
    return ZR_OK;
}

static int64_t limit_of(const struct zr_arg *limit)
{
    return limit->given ? limit->integer : -1;
}

/* ---- The methods --------------------------------------------------------------------------- */

enum zr_status zr_queue_start_put(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    const struct zr_bytes data = args->at[0].bytes, id = args->at[2].bytes;
    struct zr_put *put;
    char *room;
    enum zr_status status = new_put(self, &data, 1, ZR_ID_PATH_MAX, &put, &room);
    if (status != ZR_OK)
        return status;
    put->priority = args->at[1].integer;
    put->delay_us = args->at[3].integer;
    put->limited = ((struct zr_queue *)self)->capacity > 0;
    encode(put, &room, 0, 0, id, data);
    status = run(put, set_id(put, &room, id), limit_of(&args->at[4]), &put_kind,
                 ZR_STEP(zr_put_check), task);
    if (id.at != NULL)
        zr_queue_tidy((struct zr_queue *)self);
    return status;
}

enum zr_status zr_queue_start_put_list(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task)
{
    const struct zr_arg *list = &args->at[0];
    struct zr_put *put;
    char *room;
    enum zr_status status = new_put(self, list->list, list->count, 0, &put, &room);
    if (status != ZR_OK)
        return status;
    put->priority = args->at[1].integer;
    put->limited = ((struct zr_queue *)self)->capacity > 0;
    for (size_t i = 0; i < put->count; i++)
        encode(put, &room, i, 0, ZR_NO_DATA, list->list[i]);
    return run(put, ZR_OK, limit_of(&args->at[2]), &list_kind, ZR_STEP(zr_put_check), task);
}

static void set_move(struct zr_put *put, char **room, const struct zr_append_options *options)
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

enum zr_status zr_put_new_move(struct zr_object *self, const struct zr_append_options *options,
                               struct zr_bytes data, struct zr_put **out)
{
    size_t more = ZR_ID_PATH_MAX + options->from.length + options->claim.length +
                  options->out.length + options->put_count.length + options->text.length;
    struct zr_put *put;
    char *room;
    enum zr_status status = new_put(self, &data, 1, more + 5, &put, &room);
    if (status != ZR_OK)
        return status;
    put->priority = options->priority;
    put->due_ms = options->due;
    put->delay_us = options->delay_us;
    encode(put, &room, 0, options->attempts, options->id, data);
    put->largest = 0;
    if (options->from.at != NULL)
        set_move(put, &room, options);
    put->count = options->lane.at != NULL || options->delay_us > 0;
    if (options->lane.at != NULL) {
        put->lane = zr_queue_lane((struct zr_queue *)self, options->lane.at);
        status = put->lane != NULL ? ZR_OK : ZR_NO_MEMORY;
    }
    if (put->count > 0 && status == ZR_OK)
        status = set_id(put, &room, options->id);
    if (status != ZR_OK)
        zr_put_free(&put->queue_task.znode_task.task);
    *out = status == ZR_OK ? put : NULL;
    return status;
}

void zr_put_run(struct zr_put *put, const struct zr_task_kind *kind, const char *subject)
{
    struct zr_task *task;
    run(put, ZR_OK, -1, kind, ZR_STEP(zr_put_check), &task);
    task->subject = subject;
}

/* ---- Errands ------------------------------------------------------------------------------- */

void zr_errand_over(struct zr_errand *errand, enum zr_status status)
{
    errand->status = status;
    if (status == ZR_OK) {
        errand->bucket = errand->put->bucket;
        memcpy(errand->created, errand->put->created, sizeof(errand->created));
    }
    errand->put = NULL;
    zr_signal_fire(&errand->over, ZR_OK);
}

void zr_errand_fini(struct zr_errand *errand)
{
    if (errand->put != NULL)
        errand->put->errand = NULL;
    errand->put = NULL;
}

enum zr_status zr_errand_run(struct zr_errand *errand, struct zr_task *task,
                             const struct zr_append_options *options, struct zr_bytes data,
                             struct zr_next next)
{
    struct zr_queue *queue = errand->queue;
    struct zr_put *put;
    zr_errand_fini(errand);
    zr_signal_init(&errand->over);
    errand->created[0] = '\0';
    enum zr_status status = zr_put_new_move(&queue->znode.object, options, data, &put);
    if (status != ZR_OK)
        return status;
    errand->put = put;
    put->errand = errand;
    zr_verb_await(task, &errand->over, next);
    zr_put_run(put, &errand_kind, queue->znode.path);
    zr_task_detach(&put->queue_task.znode_task.task);
    return ZR_OK;
}
