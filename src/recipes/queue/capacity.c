#include "recipes/queue/put.h"

/*
 * Room in a queue with a capacity, without a lock: a producer asks for the size, and then puts a
 * part of what is left without asking again (its credit), the smaller the fuller the queue is.
 *
 * What can go wrong: the queue is full: look again after a pause, unless the id is known, because
 * then the put needs no room. The producers of a process that wait share one count for a while
 * (FULL_US), because a count of many items takes many requests. The limit passes meanwhile: the
 * queue is full. A put without a limit waits for room without one; each of its looks has the limit
 * of a request.
 */

#define SHORTEST_US 20000
#define LONGEST_US 500000
#define CREDIT_MAX 100
#define FULL_US 100000 /* and a microsecond for each item of the capacity */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- Full ---------------------------------------------------------------------------------- */

void zr_put_explain_full(struct zr_task *task)
{
    zr_task_explain(task, "the queue is full (%lld items)", (long long)zr_queue_of(task)->capacity);
}

static void look_again(struct zr_task *task)
{
    if (zr_put_of(task)->limit_us < 0)
        zr_task_limit(task, zr_session_patience_us(task->session));
    zr_put_find_room(task);
}

/* Shorter if the limit is near, so that there is time for another look. */
static int64_t pause_us(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    int64_t pause = put->pause_us;
    put->pause_us = least(2 * pause, LONGEST_US);
    if (put->limit_us < 0)
        return pause;
    int64_t left = put->deadline_us - zr_engine_now_us(task->session->engine);
    int64_t half = left / 2 > SHORTEST_US ? left / 2 : SHORTEST_US;
    return least(pause, half);
}

void zr_put_wait_for_room(struct zr_task *task)
{
    if (task->tries) {
        zr_put_explain_full(task);
        zr_verb_fail(task, ZR_FULL);
        return;
    }
    if (zr_put_of(task)->limit_us < 0)
        zr_task_limit(task, -1);
    zr_verb_pause(task, pause_us(task), ZR_STEP(look_again));
}

/* ---- Room ---------------------------------------------------------------------------------- */

static void put_some(struct zr_task *task, int64_t room)
{
    struct zr_put *put = zr_put_of(task);
    put->full = false;
    put->count = (size_t)room;
    if (put->limit_us < 0)
        zr_task_limit(task, zr_session_patience_us(task->session));
    zr_put_choose(task);
}

static void counted(struct zr_task *task)
{
    struct zr_put *put = zr_put_of(task);
    struct zr_queue *queue = zr_queue_of(task);
    int64_t left = queue->capacity - zr_queue_task_of(task)->sum;
    if (left < 0)
        left = 0;
    int64_t room = least(left, (int64_t)put->count), rest = least(left / 10, CREDIT_MAX) - room;
    queue->credit = rest > 0 ? rest : 0;
    queue->full_until_us = 0;
    if (room > 0) {
        put_some(task, room);
        return;
    }
    put->full = true;
    queue->full_until_us = zr_engine_now_us(task->session->engine) + FULL_US + queue->capacity;
    if (put->id_path != NULL)
        zr_put_look_at_id(task);
    else
        zr_put_wait_for_room(task);
}

void zr_put_find_room(struct zr_task *task)
{
    struct zr_queue *queue = zr_queue_of(task);
    int64_t wanted = (int64_t)zr_put_of(task)->count;
    bool was_full = zr_engine_now_us(task->session->engine) < queue->full_until_us;
    if (zr_put_of(task)->full && was_full) {
        zr_put_wait_for_room(task);
        return;
    }
    if (queue->credit < wanted) {
        zr_count_items(task, counted);
        return;
    }
    queue->credit -= wanted;
    put_some(task, wanted);
}
