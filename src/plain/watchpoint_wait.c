#include "plain/watchpoint.h"

#include <string.h>

#include "core/alloc.h"
#include "core/verbs.h"

/*
 * watch:wait(): the oldest change that was not reported yet, or the next one. Any number of tasks
 * may wait; each change goes to one of them.
 */

struct wait {
    struct zr_task task;
    struct zr_watchpoint *point; /* counted */
    enum zr_news news;
};

static void wait_step(struct zr_task *task)
{
    struct wait *wait = ZR_HOLDER(task, struct wait, task);
    struct zr_watchpoint *point = wait->point;
    if (point->closed) {
        task->detail = "the watch is closed";
        zr_task_finish(task, ZR_CLOSED);
    } else if (point->count == 0 && !point->looking) {
        zr_task_explain_answer(task, point->ended);
        zr_task_finish(task, point->ended);
    } else if (point->count == 0) {
        zr_verb_await(task, &point->news, ZR_STEP(wait_step));
    } else {
        wait->news = point->queue[0];
        point->count--;
        memmove(point->queue, point->queue + 1, (size_t)point->count * sizeof(point->queue[0]));
        zr_task_finish(task, ZR_OK);
    }
}

static void wait_results(struct zr_task *task, struct zr_sink *sink)
{
    static const char *const words[] = {"created", "changed", "deleted", "children"};
    zr_emit_string(sink, NULL, words[ZR_HOLDER(task, struct wait, task)->news]);
}

static void wait_free(struct zr_task *task)
{
    struct wait *wait = ZR_HOLDER(task, struct wait, task);
    struct zr_watchpoint *point = wait->point;
    zr_free(wait);
    zr_object_unref(&point->object);
}

/* Nothing is known yet in the present session. */
static bool asking(const struct zr_task *task)
{
    const struct zr_watchpoint *point = ZR_HOLDER(task, struct wait, task)->point;
    return point->looking && point->task.asking;
}

static const struct zr_task_kind wait_kind = {.name = "watch:wait",
                                              .local = true,
                                              .asking = asking,
                                              .results = wait_results,
                                              .free = wait_free};

enum zr_status zr_watchpoint_wait(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    struct zr_watchpoint *point = (struct zr_watchpoint *)self;
    enum zr_status status = zr_session_usable(point->session);
    if (status != ZR_OK)
        return status;
    if (point->closed) {
        args->misuse = "the watch was closed; make another one";
        return ZR_CLOSED;
    }
    struct wait *wait = zr_alloc(sizeof(*wait));
    if (wait == NULL)
        return ZR_NO_MEMORY;
    wait->point = point;
    zr_object_ref(self);
    *task = &wait->task;
    zr_task_start(*task, &wait_kind, point->session, point->path,
                  args->at[0].given ? args->at[0].integer : -1, ZR_STEP(wait_step));
    return ZR_OK;
}
