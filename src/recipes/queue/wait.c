#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * Callers that wait for an item of one queue in this process, first come, first served.
 * 1. If there is an item in the stock (stock.c), a caller gets it at once. Otherwise it
 *    enters the line, and makes sure that items are looked for (consumer.c).
 * 2. A worker takes it out of the line, and gets an item for it (worker.c).
 * 3. The worker gives it the item; or the caller returns to its old position in the line.
 *
 * What can go wrong: the caller leaves while its worker claims: the worker goes on without it. It
 * leaves when it has its item already: the item is let go. It runs so late that the item's session
 * may be over: the item is let go, and the caller claims again (queue.lua).
 *
 * The cost of each operation does not depend on the length of the line, but for a caller that
 * returns: its position is near the beginning, and usually just behind the one that came back
 * before.
 */

struct zr_waiter *zr_waiter_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_queue_task_of(task), struct zr_waiter, queue_task);
}

static struct zr_waiter *at_link(struct zr_link *link)
{
    return ZR_HOLDER(link, struct zr_waiter, in_line);
}

/* ---- The line ------------------------------------------------------------------------------ */

static struct zr_task *task_of(struct zr_waiter *waiter)
{
    return &waiter->queue_task.znode_task.task;
}

static void enter(struct zr_consumer *consumer, struct zr_waiter *waiter)
{
    consumer->waiting++;
    if (task_of(waiter)->tries)
        zr_list_append(&consumer->tries, &waiter->in_tries);
}

void zr_line_push(struct zr_consumer *consumer, struct zr_waiter *waiter)
{
    waiter->ticket = ++consumer->tickets;
    zr_list_append(&consumer->line, &waiter->in_line);
    enter(consumer, waiter);
}

void zr_line_put_back(struct zr_consumer *consumer, struct zr_waiter *waiter)
{
    struct zr_link *head = &consumer->line.head, *ahead = head;
    if (consumer->last_back != NULL && consumer->last_back->ticket < waiter->ticket)
        ahead = &consumer->last_back->in_line;
    while (ahead->next != head && at_link(ahead->next)->ticket < waiter->ticket)
        ahead = ahead->next;
    waiter->in_line.prev = ahead;
    waiter->in_line.next = ahead->next;
    ahead->next->prev = &waiter->in_line;
    ahead->next = &waiter->in_line;
    consumer->last_back = waiter;
    enter(consumer, waiter);
}

void zr_line_remove(struct zr_consumer *consumer, struct zr_waiter *waiter)
{
    bool was_in_line = waiter->worker == NULL && zr_linked(&waiter->in_line);
    waiter->worker = NULL;
    zr_unlink(&waiter->in_line);
    if (!was_in_line)
        return;
    zr_unlink(&waiter->in_tries);
    consumer->waiting--;
    if (consumer->last_back == waiter)
        consumer->last_back = NULL;
}

struct zr_waiter *zr_line_first(const struct zr_consumer *consumer)
{
    struct zr_link *link = zr_list_first(&consumer->line);
    return link != NULL ? at_link(link) : NULL;
}

/* ---- The end ------------------------------------------------------------------------------- */

static void answer(struct zr_waiter *waiter)
{
    zr_line_remove(&zr_queue_of(task_of(waiter))->consumer, waiter);
    waiter->answered = true;
    zr_signal_fire(&waiter->told, ZR_OK);
}

void zr_waiter_give(struct zr_waiter *waiter, struct zr_claim *claim)
{
    waiter->claim = claim;
    answer(waiter);
}

void zr_waiter_fail(struct zr_waiter *waiter, enum zr_status status, const char *why)
{
    waiter->answer = status;
    waiter->why = why;
    answer(waiter);
}

static void told(struct zr_task *task)
{
    struct zr_waiter *waiter = zr_waiter_of(task);
    if (waiter->claim != NULL) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    task->detail = waiter->why;
    zr_verb_fail(task, waiter->answer);
}

static void let_go(struct zr_task *task)
{
    struct zr_claim *claim = zr_waiter_of(task)->claim;
    if (claim != NULL)
        zr_claim_let_go(claim);
}

/* The caller has left, or was told why there is no item. */
static void leave(struct zr_task *task)
{
    struct zr_waiter *waiter = zr_waiter_of(task);
    struct zr_consumer *consumer = &zr_queue_of(task)->consumer;
    zr_line_remove(consumer, waiter);
    let_go(task);
    if (consumer->waiting == 0)
        zr_signal_fire(&consumer->work, ZR_OK);
    zr_task_finish(task, ZR_OK);
}

static void untaken(struct zr_task *task)
{
    let_go(task);
    zr_task_release(task);
}

/* ---- The methods --------------------------------------------------------------------------- */

static bool asking(const struct zr_task *task)
{
    const struct zr_waiter *waiter = zr_waiter_of((struct zr_task *)task);
    const struct zr_consumer *consumer = &zr_queue_of((struct zr_task *)task)->consumer;
    return task->tries || consumer->asking || waiter->worker != NULL;
}

static void emit(struct zr_task *task, struct zr_sink *sink)
{
    zr_claim_emit(zr_waiter_of(task)->claim, sink);
}

/* Another process may have the item by now. But nobody else gets an item that was taken. */
static enum zr_status still(const struct zr_task *task)
{
    const struct zr_claim *claim = zr_waiter_of((struct zr_task *)task)->claim;
    return claim->taken ? ZR_OK : zr_session_standing(task->session, claim->generation);
}

static void free_waiter(struct zr_task *task)
{
    struct zr_claim *claim = zr_waiter_of(task)->claim;
    struct zr_queue *queue = zr_queue_of(task);
    zr_object_ref(&queue->znode.object);
    zr_queue_task_free(task);
    if (claim != NULL)
        zr_object_unref(&claim->object);
    zr_attend_leave_if_unused(queue);
    zr_object_unref(&queue->znode.object);
}

#define KIND(called)                                                                               \
    {                                                                                              \
        .name = (called), .clean = leave, .asking = asking, .results = emit, .still = still,       \
        .discard = untaken, .free = free_waiter                                                    \
    }
static const struct zr_task_kind claim_kind = KIND("queue:claim");
static const struct zr_task_kind take_kind = KIND("queue:take");

static void enter_line(struct zr_task *task)
{
    struct zr_waiter *waiter = zr_waiter_of(task);
    struct zr_consumer *consumer = &zr_queue_of(task)->consumer;
    waiter->claim = zr_stock_take(zr_queue_of(task));
    if (waiter->claim != NULL) {
        zr_work(zr_queue_of(task));
        zr_task_finish(task, ZR_OK);
        return;
    }
    size_t early =
        consumer->stock_count + consumer->coming; /* one of these may be for the caller */
    if (zr_room_used(zr_queue_of(task)) >= ZR_CLAIMS_MAX + early) {
        zr_task_explain(task,
                        "this session has %d claims of the queue, waiting calls included; ack some "
                        "first",
                        ZR_CLAIMS_MAX);
        zr_verb_fail(task, ZR_FULL);
        return;
    }
    zr_line_push(consumer, waiter);
    if (!consumer->watching)
        consumer->events++;
    zr_verb_await(task, &waiter->told, ZR_STEP(told));
    enum zr_status status = zr_consumer_serve(zr_queue_of(task));
    if (status != ZR_OK)
        zr_waiter_fail(waiter, status, NULL);
}

static enum zr_status start(struct zr_object *self, const struct zr_arg *timeout, bool takes,
                            struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    enum zr_status status = zr_znode_task_new(sizeof(struct zr_waiter), self, &znode_task);
    if (status != ZR_OK)
        return status;
    struct zr_waiter *waiter = zr_waiter_of(&znode_task->task);
    waiter->takes = takes;
    zr_signal_init(&waiter->told);
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, takes ? &take_kind : &claim_kind, timeout, ZR_STEP(enter_line));
    zr_queue_tidy((struct zr_queue *)self);
    return ZR_OK;
}

enum zr_status zr_queue_start_claim(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    return start(self, &args->at[0], false, task);
}

enum zr_status zr_queue_start_take(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task)
{
    return start(self, &args->at[0], true, task);
}
