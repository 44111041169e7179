#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * queue:peek(): the item that a claim would give next: look for items (look.c), and read the first
 * one.
 *
 * What can go wrong: it is gone, or cannot be read: read the next one; after the last one, look
 * again.
 */

struct peek {
    struct zr_search look;
    struct zr_claim *item; /* counted: that is read; or null */
    bool found;
};

static void next(struct zr_task *task);

static struct peek *of(struct zr_task *task)
{
    return ZR_HOLDER(zr_search_of(task), struct peek, look);
}

static void forget_item(struct peek *peek)
{
    if (peek->item != NULL)
        zr_object_unref(&peek->item->object);
    peek->item = NULL;
}

static void looked(struct zr_task *task)
{
    if (of(task)->look.batch.count == 0)
        zr_task_finish(task, ZR_OK);
    else
        next(task);
}

static void look(struct zr_task *task)
{
    of(task)->look.found = looked;
    zr_search_begin(&of(task)->look, task);
}

static void unreadable(struct zr_task *task)
{
    if (zr_leave_out(of(task)->item) == ZR_OK)
        next(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void item_read(struct zr_task *task)
{
    struct zr_claim *item = of(task)->item;
    struct zr_request *answer = &task->call->request;
    if (task->outcome == ZR_NO_AUTH)
        zr_forbid(item->queue, item->lane, item->bucket, item->name);
    if (task->outcome == ZR_NO_NODE || task->outcome == ZR_NO_AUTH) {
        next(task);
        return;
    }
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    item->data = (char *)answer->data_reply.at;
    of(task)->found = zr_item_read(answer->data_reply, &item->entry);
    answer->data_reply = ZR_NO_DATA;
    if (of(task)->found)
        zr_task_finish(task, ZR_OK);
    else
        unreadable(task);
}

static void next(struct zr_task *task)
{
    struct peek *peek = of(task);
    struct zr_batch *batch = &peek->look.batch;
    forget_item(peek);
    if (batch->next == batch->count) {
        look(task);
        return;
    }
    const char *name = batch->at[batch->next++];
    peek->item = zr_claim_new(zr_queue_of(task), batch->lane, batch->bucket, name);
    if (peek->item != NULL)
        zr_queue_read(task, ZR_OP_GET, peek->item->path, "", ZR_STEP(item_read));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void emit(struct zr_task *task, struct zr_sink *sink)
{
    if (!of(task)->found) {
        sink->boolean(sink, NULL, false);
        return;
    }
    sink->begin(sink, NULL);
    zr_item_emit(of(task)->item, sink);
    sink->end(sink);
}

static void free_peek(struct zr_task *task)
{
    forget_item(of(task));
    zr_search_fini(&of(task)->look);
    zr_queue_task_free(task);
}

/* It has no limit of the caller. */
static bool asking(const struct zr_task *task)
{
    (void)task;
    return true;
}

static const struct zr_task_kind kind = {
    .name = "queue:peek", .asking = asking, .results = emit, .free = free_peek};

enum zr_status zr_queue_start_peek(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    (void)args;
    enum zr_status status = zr_znode_task_new(sizeof(struct peek), self, &znode_task);
    if (status != ZR_OK)
        return status;
    struct zr_arg limit = {.given = true,
                           .integer = zr_session_patience_us(znode_task->znode->session)};
    *task = &znode_task->task;
    of(*task)->look.errand.queue = (struct zr_queue *)self;
    zr_znode_task_start(znode_task, &kind, &limit, ZR_STEP(look));
    return ZR_OK;
}
