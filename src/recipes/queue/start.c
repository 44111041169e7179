#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "recipes/queue/put.h"

/*
 * The method that puts one item: put(data [, options]) gives true, or true, "known". And moves in
 * the background. put_all.c puts a list.
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

static void emit_put(struct zr_task *task, struct zr_sink *sink)
{
    sink->boolean(sink, NULL, true);
    if (zr_put_of(task)->was_known)
        zr_emit_string(sink, NULL, "known");
}

#define KIND(called, emit)                                                                         \
    {                                                                                              \
        .name = (called), .clean = zr_put_clean, .asking = zr_put_asking, .results = (emit),       \
        .free = zr_put_free                                                                        \
    }
static const struct zr_task_kind put_kind = KIND("queue:put", emit_put);
static const struct zr_task_kind errand_kind = KIND("queue:move", NULL);

/* ---- The method ---------------------------------------------------------------------------- */

const struct zr_option zr_put_options[] = {
    {"priority", 'i', offsetof(struct zr_put_item, priority)},
    {"delay", 't', offsetof(struct zr_put_item, delay_us)},
    {"id", 'd', offsetof(struct zr_put_item, id)},
    {"timeout", 't', offsetof(struct zr_put_item, timeout_us)},
    {NULL, 0, 0}};

bool zr_put_accepts(struct zr_args *args, int argument, const char *where,
                    const struct zr_put_item *item)
{
    size_t size = sizeof(args->text), length = item->id.length;
    if (item->priority < 0 || item->priority > ZR_PRIORITIES)
        snprintf(args->text, size,
                 "%soption 'priority': integer from 0 to %d expected, got %" PRId64, where,
                 ZR_PRIORITIES, item->priority);
    else if (item->id.at != NULL && (length == 0 || length > ZR_QUEUE_ID_MAX))
        snprintf(args->text, size, "%soption 'id': 1 to %d bytes expected, got %zu", where,
                 ZR_QUEUE_ID_MAX, length);
    else
        return true;
    args->misuse = args->text;
    args->misused = argument;
    return false;
}

enum zr_status zr_queue_start_put(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    struct zr_put_item item = *(const struct zr_put_item *)args->options;
    struct zr_put *put;
    item.data = args->at[0].bytes;
    if (!zr_put_accepts(args, 2, "", &item))
        return ZR_BAD_ARGUMENTS;
    enum zr_status status = zr_put_new(self, &item, &put);
    if (status != ZR_OK)
        return status;
    *task = &put->queue_task.znode_task.task;
    zr_put_start(put, &put_kind, item.timeout_us, ZR_STEP(zr_put_check));
    if (item.id.at != NULL)
        zr_queue_tidy((struct zr_queue *)self);
    return ZR_OK;
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
