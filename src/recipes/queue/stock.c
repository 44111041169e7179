#include "recipes/queue/claims.h"

/*
 * The stock: items that this process has claimed before a caller asked for them (`prefetch`).
 * 1. A worker claims some items more than there are callers (worker.c), and puts them here.
 * 2. A caller that claims gets the first one at once (wait.c). When half of the stock is gone, a
 *    worker claims more, as long as the batch has items of our own share.
 * 3. If no caller asks for an item in a second, it is let go with all items behind it, and with
 *    those that workers are claiming for the stock: their attempts do not count.
 *
 * A process that is slower than this would claim items in vain: each time that this happens, it
 * keeps half as many. With each item that a caller gets, it keeps one more.
 *
 * What can go wrong: the session is lost, or may be lost: the item is not given to a caller. The
 * last handle is collected: all items are let go.
 */

#define KEEP_US 1000000

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

size_t zr_stock_room(const struct zr_queue *queue)
{
    const struct zr_consumer *consumer = &queue->consumer;
    size_t have = consumer->stock_count + consumer->coming;
    if (consumer->forgotten || !consumer->batch.own || have >= consumer->depth)
        return 0;
    return least(consumer->depth - have, zr_room_for_stock(queue));
}

bool zr_stock_is_low(const struct zr_queue *queue)
{
    const struct zr_consumer *consumer = &queue->consumer;
    return 2 * zr_stock_room(queue) > consumer->depth;
}

/* ---- Out ----------------------------------------------------------------------------------- */

static struct zr_claim *shift(struct zr_consumer *consumer)
{
    struct zr_link *link = zr_list_shift(&consumer->stock);
    if (link == NULL)
        return NULL;
    consumer->stock_count--;
    return ZR_HOLDER(link, struct zr_claim, in_stock);
}

static void give_back(struct zr_claim *claim)
{
    zr_claim_let_go(claim);
    zr_object_unref(&claim->object);
}

struct zr_claim *zr_stock_take(struct zr_queue *queue)
{
    struct zr_consumer *consumer = &queue->consumer;
    struct zr_claim *claim;
    while ((claim = shift(consumer)) != NULL) {
        if (zr_session_valid(queue->znode.session, claim->generation)) {
            consumer->depth = least(consumer->depth + 1, consumer->prefetch);
            return claim;
        }
        give_back(claim);
    }
    return NULL;
}

void zr_stock_drop(struct zr_queue *queue)
{
    struct zr_claim *claim;
    zr_timer_stop(&queue->znode.session->engine->timers, &queue->consumer.stale);
    queue->consumer.drops++;
    queue->consumer.fresh_until_us = 0; /* they are ahead of the items in the batch */
    while ((claim = shift(&queue->consumer)) != NULL)
        give_back(claim);
}

/* ---- In ------------------------------------------------------------------------------------ */

static void await_stale(struct zr_queue *queue, const struct zr_claim *first);

/* If the first item goes back, the others do too: otherwise they would come before it. */
static void check_age(struct zr_timer *timer)
{
    struct zr_queue *queue = ZR_HOLDER(timer, struct zr_queue, consumer.stale);
    struct zr_link *link = zr_list_first(&queue->consumer.stock);
    if (link == NULL)
        return;
    const struct zr_claim *first = ZR_HOLDER(link, struct zr_claim, in_stock);
    if (first->kept_until_us > zr_engine_now_us(queue->znode.session->engine)) {
        await_stale(queue, first);
        return;
    }
    zr_object_ref(&queue->znode.object);
    queue->consumer.depth = (queue->consumer.depth + 1) / 2;
    zr_stock_drop(queue);
    zr_object_unref(&queue->znode.object);
}

static void await_stale(struct zr_queue *queue, const struct zr_claim *first)
{
    zr_timer_start(&queue->znode.session->engine->timers, &queue->consumer.stale,
                   first->kept_until_us, check_age);
}

bool zr_stock_add(struct zr_claim *claim)
{
    struct zr_queue *queue = claim->queue;
    struct zr_consumer *consumer = &queue->consumer;
    if (consumer->forgotten || consumer->stock_count >= consumer->depth)
        return false;
    claim->kept_until_us = zr_engine_now_us(queue->znode.session->engine) + KEEP_US;
    zr_list_append(&consumer->stock, &claim->in_stock);
    consumer->stock_count++;
    if (consumer->stale.fire == NULL)
        await_stale(queue, claim);
    return true;
}
