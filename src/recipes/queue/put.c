#include "recipes/queue/put.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Puts items into a queue: one item, or several in one transaction.
 * 1. Give it a tag, by which it is known if its answer is lost.
 * 2. Wait for room, if the queue has a capacity (capacity.c).
 * 3. Choose the lane: that of its priority, or that of the delayed items.
 * 4. Send the transaction (append.c).
 *
 * What can go wrong: there is no session yet: wait for one. The time is not known, which a delay
 * needs: ask for it.
 */

struct zr_put *zr_put_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_queue_task_of(task), struct zr_put, queue_task);
}

/* ---- The steps ----------------------------------------------------------------------------- */

/* The number in the middle says how many items follow in the same request (plain.c). */
void zr_put_tag(const struct zr_put *put, size_t item, char *tag)
{
    snprintf(tag, ZR_ITEM_TAG, "%016" PRIx64 "_%zu_%" PRIu64, (uint64_t)put->tagged,
             put->count - 1 - item, put->number);
}

/* Afterwards it is known when the item is due. */
static bool is_timed(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    const struct zr_queue *queue = zr_queue_of(task);
    if (put->delay_us == 0 || put->due_ms > 0)
        return true;
    if (queue->told_us < 0)
        return false;
    put->due_ms = zr_queue_now_ms(queue) + 1 + (put->delay_us + 999) / 1000;
    return true;
}

void zr_put_choose(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    char name[ZR_LANE_NAME];
    if (put->number > 0)
        zr_put_tag(put, 0, put->tag);
    if (!is_timed(task)) {
        zr_put_ask_time(task, zr_put_choose);
        return;
    }
    if (put->lane == NULL && put->count > 0) {
        zr_lane_name(put->priority, name);
        put->lane = zr_queue_lane(zr_queue_of(task), put->due_ms > 0 ? "later" : name);
    }
    if (put->lane != NULL || put->count == 0)
        zr_put_append(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void begin(struct zr_task *task);

static void number(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    put->tagged = zr_queue_of(task)->session_id;
    put->number = ++task->session->tags;
}

static void begin(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    struct zr_queue *queue = zr_queue_of(task);
    if (task->session->id != 0)
        queue->session_id = task->session->id;
    if (queue->session_id == 0) {
        zr_verb_await(task, &task->session->changed, ZR_STEP(begin));
        return;
    }
    if (put->tag[0] == '\0' && put->number == 0)
        number(task);
    if (put->limited)
        zr_put_find_room(task);
    else
        zr_put_choose(task);
}

void zr_put_check(struct zr_task *task)
{
    if (zr_put_of(task)->largest <= ZR_ITEM_MAX) {
        begin(task);
        return;
    }
    zr_task_explain(task, "an item has at most %d bytes, not %zu", ZR_ITEM_MAX,
                    zr_put_of(task)->largest);
    zr_verb_fail(task, ZR_TOO_LARGE);
}

void zr_put_end(struct zr_task *task)
{
    if (zr_put_of(task)->then != NULL)
        zr_put_of(task)->then(task);
    else
        zr_task_finish(task, ZR_OK);
}
