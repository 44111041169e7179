#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/put.h"

/*
 * Puts a list of items: put_all(list of items [, timeout]) gives how many there are, and how many
 * of them were known.
 * 1. Copy the list.
 * 2. Put the next items: those of one priority that fit into one request, all or none; an item with
 *    an id or a delay alone. If the queue has room for only some of them, these are put.
 * 3. 2 again with the items behind them.
 *
 * What can go wrong: a request fails, or the limit passes: the items before are put, and the result
 * says how many.
 */

#define MOST 100          /* items of one request */
#define MOST_BYTES 500000 /* ... */

struct put_all {
    struct zr_put put;
    size_t count, at; /* items; how many of them are put, or were known */
    int64_t known;
    struct zr_put_item items[];
};

static struct put_all *of(struct zr_task *task)
{
    return ZR_HOLDER(zr_put_of(task), struct put_all, put);
}

/* ---- The requests -------------------------------------------------------------------------- */

static bool is_plain(const struct zr_put_item *item)
{
    return item->id.at == NULL && item->delay_us < 0;
}

/* How many items the next request puts. Beside its data, an item needs room for the paths of its
   znode and of its lane's counter. */
static size_t next_count(const struct put_all *all, size_t path)
{
    const struct zr_put_item *first = &all->items[all->at];
    size_t left = all->count - all->at, most = left < MOST ? left : MOST, bytes = 0, i = 0;
    for (; i < most && is_plain(&first[i]) && first[i].priority == first->priority; i++) {
        bytes += first[i].data.length + 2 * path + 200;
        if (bytes > MOST_BYTES)
            break;
    }
    return i > 0 ? i : 1;
}

/* Without a limit of the caller each request has the time that a put has. A try waits for the
   answer to each. */
static void set_limit(struct zr_task *task)
{
    if (zr_put_of(task)->limit_us < 0)
        zr_task_limit(task, zr_session_patience_us(task->session));
    else if (task->tries)
        zr_task_limit(task, zr_session_try_us(task->session));
}

static void put_next(struct zr_task *task)
{
    struct put_all *all = of(task);
    struct zr_queue *queue = zr_queue_of(task);
    const struct zr_put_item *items = &all->items[all->at];
    if (all->at == all->count) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    set_limit(task);
    if (items->id.at != NULL)
        zr_queue_tidy(queue);
    enum zr_status status =
        zr_put_renew(&all->put, items, next_count(all, strlen(queue->znode.path)));
    if (status == ZR_OK)
        zr_put_check(task);
    else
        zr_verb_fail(task, status);
}

static void put_some(struct zr_task *task)
{
    struct put_all *all = of(task);
    all->at += all->put.count;
    all->known += all->put.was_known;
    put_next(task);
}

/* ---- The method ---------------------------------------------------------------------------- */

static void emit(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, (int64_t)of(task)->count);
    sink->integer(sink, NULL, of(task)->known);
}

static void emit_put(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, (int64_t)of(task)->at);
}

static const struct zr_task_kind kind = {.name = "queue:put_all",
                                         .clean = zr_put_clean,
                                         .asking = zr_put_asking,
                                         .results = emit,
                                         .failed = emit_put,
                                         .free = zr_put_free};

static struct zr_bytes copy(char **room, struct zr_bytes from)
{
    struct zr_bytes bytes = {*room, from.length};
    if (from.at == NULL)
        return from;
    memcpy(*room, from.at, from.length);
    *room += from.length;
    return bytes;
}

/* gives: a task with a copy of these items. */
static enum zr_status new_put_all(struct zr_object *self, const struct zr_put_item *items,
                                  size_t count, struct put_all **out)
{
    struct zr_znode_task *znode_task;
    size_t size = sizeof(struct put_all) + count * sizeof(items[0]);
    for (size_t i = 0; i < count; i++)
        size += items[i].data.length + items[i].id.length;
    enum zr_status status = zr_znode_task_new(size, self, &znode_task);
    if (status != ZR_OK)
        return status;
    struct put_all *all = *out = of(&znode_task->task);
    char *room = (char *)(all->items + count);
    all->count = count;
    for (size_t i = 0; i < count; i++) {
        all->items[i] = items[i];
        all->items[i].data = copy(&room, items[i].data);
        all->items[i].id = copy(&room, items[i].id);
    }
    return ZR_OK;
}

const struct zr_option zr_put_all_options[] = {
    {"data", 'd', offsetof(struct zr_put_item, data)},
    {"priority", 'i', offsetof(struct zr_put_item, priority)},
    {"delay", 't', offsetof(struct zr_put_item, delay_us)},
    {"id", 'd', offsetof(struct zr_put_item, id)},
    {NULL, 0, 0}};

static bool accept_all(struct zr_args *args, const struct zr_put_item *items, size_t count)
{
    char where[32];
    for (size_t i = 0; i < count; i++) {
        snprintf(where, sizeof(where), "entry %zu, ", i + 1);
        if (!zr_put_accepts(args, 1, where, &items[i]))
            return false;
    }
    return true;
}

enum zr_status zr_queue_start_put_all(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task)
{
    const struct zr_put_item *items = args->at[0].records;
    const struct zr_arg *limit = &args->at[1];
    struct put_all *all;
    if (!accept_all(args, items, args->at[0].count))
        return ZR_BAD_ARGUMENTS;
    enum zr_status status = new_put_all(self, items, args->at[0].count, &all);
    if (status != ZR_OK)
        return status;
    all->put.then = put_some;
    *task = &all->put.queue_task.znode_task.task;
    zr_put_start(&all->put, &kind, limit->given ? limit->integer : -1, ZR_STEP(put_next));
    return ZR_OK;
}
