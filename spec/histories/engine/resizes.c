#include "contender.h"
#include "resizes.h"

/*
 * A limit may be stored now if its call is not superseded. A successful call supersedes all calls
 * that had ended when it began. If no other call has been under way since then, its limit is the
 * only one that may be stored.
 */

#define MOST_RESIZES 200

struct resize {
    const struct process *process;
    struct zr_task *task; /* null: abandoned, or it has ended */
    int64_t limit;
    int begun, ended; /* in the order in which calls begin and end; ended 0: it may still write */
    bool kept;        /* it was answered with success */
    bool refused;     /* it says that it has changed nothing */
    int64_t writes;   /* which the process had sent when it began */
};

static struct {
    struct resize at[MOST_RESIZES];
    int count, order;
} resizes;

void begin_resizes(int64_t first_limit)
{
    memset(&resizes, 0, sizeof(resizes));
    resizes.at[resizes.count++] = (struct resize){.limit = first_limit, .ended = ++resizes.order};
}

static int64_t writes_of(const struct process *process)
{
    return zr_sim_requests(process->zk, ZR_OP_SET) + zr_sim_requests(process->zk, ZR_OP_CREATE);
}

/* Its next write comes late: then it may find a directory that was made again. */
static void delay_write(struct process *process)
{
    const struct zr_sim_plan late = {.op = ZR_OP_SET,
                                     .nth = 1,
                                     .fault = ZR_SIM_DELAY,
                                     .us = roll(now.shape.timeout_ms * MS / 2)};
    zr_sim_plan(process->zk, &late);
}

void resize_semaphore(struct process *process, bool late)
{
    struct resize *resize = &resizes.at[resizes.count];
    struct zr_args args = {0};
    if (resizes.count == MOST_RESIZES)
        return;
    args.at[0].given = true;
    args.at[0].integer = 1 + roll(5);
    args.at[1].given = late || roll(4) == 0;
    args.at[1].integer = late ? 2 * MS + roll(20 * MS) : some_time();
    if (late)
        delay_write(process);
    *resize = (struct resize){.process = process, .limit = args.at[0].integer};
    say("%d resizes to %lld", process->number, (long long)resize->limit);
    resize->writes = writes_of(process);
    if (start(process->object, "resize", &args, &resize->task) != ZR_OK)
        return;
    resize->begun = ++resizes.order;
    resizes.count++;
    if (roll(8) == 0) {
        zr_task_detach(resize->task);
        resize->task = NULL;
    }
}

/* ---- What a call says ---------------------------------------------------------------------- */

static void check_message(struct resize *resize)
{
    char message[400];
    zr_task_message(resize->task, message, sizeof(message));
    say("%d: %s", resize->process->number, message);
    bool doubtful = strstr(message, "may or may not have been made") != NULL;
    if (doubtful && writes_of(resize->process) == resize->writes)
        wrong("a resize that has written nothing says that it may have been made");
    resize->refused = !doubtful;
}

bool resize_reported(struct zr_task *task)
{
    struct resize *resize = resizes.at;
    while (resize < resizes.at + resizes.count && resize->task != task)
        resize++;
    if (resize == resizes.at + resizes.count)
        return false;
    resize->ended = ++resizes.order;
    resize->kept = task->status == ZR_OK;
    if (resize->kept)
        say("%d has resized to %lld", resize->process->number, (long long)resize->limit);
    else
        check_message(resize);
    resize->task = NULL;
    zr_task_drop(task, true);
    return true;
}

/* ---- What is stored ------------------------------------------------------------------------ */

static bool is_superseded(const struct resize *resize)
{
    for (int i = 0; i < resizes.count; i++)
        if (resizes.at[i].kept && resize->ended > 0 && resizes.at[i].begun > resize->ended)
            return true;
    return false;
}

void check_kept(int64_t limit)
{
    for (int i = 0; i < resizes.count; i++) {
        const struct resize *resize = &resizes.at[i];
        if (resize->limit == limit && !resize->refused && !is_superseded(resize))
            return;
    }
    wrong("the limit is %lld, but a resize to another one was answered", (long long)limit);
}
