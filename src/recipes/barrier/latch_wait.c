#include "recipes/barrier/latch.h"

/*
 * latch:wait():
 * 1. Look at the latch, to compare its number, and perhaps to make it. If all counts are there, it
 *    is open.
 * 2. Wait until the znode "open" exists. All tasks of a session that wait for it share a watch.
 *
 * One look is enough for all tasks that wait with one object: while a task looks, the others wait
 * for it, and while one waits for "open", the others join it without a look. A latch never closes
 * again, so an answer that says "open" counts for a task that came after the question.
 *
 * What can go wrong: the task that looks gives up, or its look fails: the next one looks itself.
 */

struct wait {
    struct zr_latch_task latch_task;
    bool looks, awaits; /* this task is counted in the latch's `looking`, `awaiting` */
};

static struct wait *of(struct zr_task *task)
{
    return ZR_HOLDER(zr_latch_task_of(task), struct wait, latch_task);
}

static void end_look(struct zr_task *task)
{
    struct zr_latch *latch = zr_latch_of(task);
    if (!of(task)->looks)
        return;
    of(task)->looks = latch->looking = false;
    zr_signal_fire(&latch->looked, ZR_OK);
}

static void leave(struct zr_task *task)
{
    end_look(task);
    if (of(task)->awaits)
        zr_latch_of(task)->awaiting--;
    of(task)->awaits = false;
}

static void opened(struct zr_task *task)
{
    leave(task);
    zr_task_finish(task, ZR_OK);
}

static void await_open(struct zr_task *task)
{
    struct zr_latch *latch = zr_latch_of(task);
    of(task)->awaits = true;
    latch->awaiting++;
    zr_verb_await_presence(task, latch->open, true, ZR_STEP(opened));
}

static bool is_open(struct zr_task *task)
{
    return zr_latch_task_of(task)->counted >= zr_latch_of(task)->total;
}

static void seen(struct zr_task *task)
{
    zr_latch_of(task)->was_open = is_open(task);
    if (is_open(task)) {
        opened(task);
    } else {
        await_open(task);
        end_look(task);
    }
}

static void begin(struct zr_task *task);

/* Another task's look has ended. */
static void told(struct zr_task *task)
{
    if (zr_latch_of(task)->was_open)
        opened(task);
    else
        begin(task);
}

static void begin(struct zr_task *task)
{
    struct zr_latch *latch = zr_latch_of(task);
    if (latch->awaiting > 0) {
        await_open(task);
    } else if (latch->looking) {
        zr_verb_await(task, &latch->looked, ZR_STEP(told));
    } else {
        of(task)->looks = latch->looking = true;
        latch->was_open = false;
        zr_latch_look(task, ZR_STEP(seen));
    }
}

/* ---- With a limit of 0 --------------------------------------------------------------------- */

static void seen_once(struct zr_task *task)
{
    if (!is_open(task))
        task->detail = "it is not open";
    zr_task_finish(task, is_open(task) ? ZR_OK : ZR_TIMEOUT);
}

static void look_once(struct zr_task *task)
{
    zr_latch_look(task, ZR_STEP(seen_once));
}

/* ---- The method ---------------------------------------------------------------------------- */

static void give_up(struct zr_task *task)
{
    leave(task);
    zr_task_finish(task, ZR_OK);
}

/* A task that waits for another task's look waits for the answer to it. */
static bool asking(const struct zr_task *task)
{
    const struct zr_znode_task *znode_task = ZR_HOLDER(task, struct zr_znode_task, task);
    const struct zr_latch *latch = (const struct zr_latch *)znode_task->znode;
    return task->asking || (latch->looking && latch->awaiting == 0);
}

static const struct zr_task_kind kind = {.name = "latch:wait",
                                         .clean = give_up,
                                         .asking = asking,
                                         .results = zr_emit_true,
                                         .free = zr_znode_task_free};

enum zr_status zr_latch_wait(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    bool tries = args->at[0].given && args->at[0].integer == 0;
    enum zr_status status = zr_znode_task_new(sizeof(struct wait), self, &znode_task);
    if (status != ZR_OK)
        return status;
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, &kind, &args->at[0],
                        tries ? ZR_STEP(look_once) : ZR_STEP(begin));
    return ZR_OK;
}
