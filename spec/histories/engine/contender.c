#include "contender.h"

void after(struct contender *contender, enum part part, int64_t us)
{
    contender->part = part;
    contender->due_us = us == NEVER ? NEVER : clock_us() + us;
}

int64_t some_time(void)
{
    static const int64_t most[] = {1, 300, 2 * MS, 20 * MS, 300 * MS, 2 * SECOND};
    return roll(most[now.shape.patient ? roll(3) : roll(6)]);
}

static void next_attempt(struct contender *contender)
{
    contender->task = NULL;
    after(contender, contender->attempts > 0 ? IDLE : DONE,
          contender->attempts > 0 ? some_time() : NEVER);
}

/* ---- Acquire ------------------------------------------------------------------------------- */

static const struct script *script_of(const struct process *process)
{
    return &now.recipe->scripts[now.shape.script[process->number]];
}

static int some_mode(const struct process *process)
{
    return now.shape.scripted ? script_of(process)->mode : (int)roll(now.recipe->modes);
}

static int64_t some_limit(const struct process *process)
{
    int64_t kind = roll(5);
    if (now.shape.scripted)
        return script_of(process)->limit_us;
    return kind < 2 ? -1 : kind == 2 ? 0 : 1 + some_time();
}

static bool gives_up(const struct process *process)
{
    return now.shape.scripted ? script_of(process)->gives_up : roll(6) == 0;
}

static void attempt(struct contender *contender)
{
    struct process *process = contender->process;
    struct zr_args args = {0};
    contender->mode = some_mode(process);
    contender->limit_us = some_limit(process);
    contender->its = process->session;
    contender->generation = process->session->generation;
    contender->failures = now.failures;
    contender->canceled = contender->granted = false;
    contender->began_us = clock_us();
    now.attempts++;
    contender->occupied = was_occupied(contender->mode);
    args.at[0].given = contender->limit_us >= 0;
    args.at[0].integer = contender->limit_us;
    say("%d.%d acquires, mode %d, limit %lld", process->number, contender->number, contender->mode,
        (long long)contender->limit_us);
    enum zr_status status = now.recipe->start(contender, &args);
    after(contender, WAITING, gives_up(process) ? some_time() : NEVER);
    if (status != ZR_OK) {
        check_end(contender, status);
        next_attempt(contender);
    } else if (contender->task->reported) {
        wrong("%d.%d is told the end inside the start", process->number, contender->number);
    }
    watch_tries();
}

static void begin(struct contender *contender)
{
    if (contender->process->object == NULL)
        contender->due_us = clock_us() + MS; /* no memory for the object: try again later */
    else {
        contender->attempts--;
        attempt(contender);
    }
}

/* ---- Giving up ----------------------------------------------------------------------------- */

static void drop(struct contender *contender, bool taken)
{
    now.cancels += !contender->task->reported;
    struct zr_task *task = contender->task;
    contender->task = NULL;
    zr_task_drop(task, taken);
}

static void cancel_all(struct process *process)
{
    EACH_CONTENDER(c, process)
    c->canceled = true;
    if (process->object != NULL)
        call(process->object, now.recipe->cancel);
}

static void give_up(struct contender *contender)
{
    int64_t how = roll(8) + (now.recipe->cancel == NULL);
    say("%d.%d gives up (%s)", contender->process->number, contender->number,
        how == 0  ? "all"
        : how < 4 ? "interrupts"
                  : "drops");
    contender->canceled = true;
    contender->due_us = NEVER;
    if (how == 0)
        cancel_all(contender->process);
    else if (how < 4)
        zr_task_interrupt(contender->task, ZR_CANCELED);
    else {
        drop(contender, false);
        next_attempt(contender);
    }
}

void stop(struct contender *contender, enum stop how)
{
    say("%d.%d is stopped (%d)", contender->process->number, contender->number, (int)how);
    contender->canceled = how != TIME_OUT;
    if (how == CANCEL_ALL && now.recipe->cancel != NULL) {
        cancel_all(contender->process);
    } else if (how == TIME_OUT) {
        contender->limit_us = NEVER / 2;
        zr_task_interrupt(contender->task, ZR_TIMEOUT);
    } else if (how == DROP) {
        drop(contender, false);
        next_attempt(contender);
    } else {
        zr_task_interrupt(contender->task, ZR_CANCELED);
    }
}

/* ---- The results --------------------------------------------------------------------------- */

static void take(struct contender *contender)
{
    contender->task->kind->results(contender->task, &sink);
    contender->hold = result.object;
    if (!call(contender->hold, "valid"))
        wrong("%d.%d gets a hold that is over", contender->process->number, contender->number);
    drop(contender, true);
    after(contender, HOLDING, some_time());
}

static void take_or_leave(struct contender *contender)
{
    zr_task_settle(contender->task);
    enum zr_status status = contender->task->status;
    check_end(contender, status);
    if (status == ZR_OK && roll(12) > 0) {
        take(contender);
    } else {
        drop(contender, status != ZR_OK && roll(2) == 0);
        next_attempt(contender);
    }
}

/* ---- Holding ------------------------------------------------------------------------------- */

static void release(struct contender *contender)
{
    bool forgets = roll(3) == 0;
    struct zr_object *hold = contender->hold;
    say("%d.%d %s", contender->process->number, contender->number,
        forgets ? "forgets" : "releases");
    contender->hold = NULL;
    if (!forgets)
        call(hold, now.recipe->release);
    let_go(hold);
    next_attempt(contender);
}

static enum zr_status write_token(struct contender *contender)
{
    struct zr_create_options options = {.ttl_us = -1, .timeout_us = -1};
    struct zr_stat stat;
    char token[17];
    struct zr_args args = {.options = &options};
    snprintf(token, sizeof(token), "%016llx",
             (unsigned long long)((struct zr_hold *)contender->hold)->seat.czxid);
    args.at[0].bytes = (struct zr_bytes){"/r", 2};
    args.at[1].bytes = (struct zr_bytes){token, 16};
    args.at[0].given = args.at[1].given = true;
    return start(contender->hold, zr_sim_stat(now.world, REGISTER, &stat) ? "set" : "create", &args,
                 &contender->question);
}

/* Writes under the hold, waits for its loss, or does what the recipe has for `other`. */
static void ask(struct contender *contender)
{
    struct zr_args args = {0};
    args.at[0].given = true;
    args.at[0].integer = some_time();
    now.asked++;
    bool other = now.recipe->other != NULL && roll(2) == 0;
    contender->other = other;
    bool writes = !other && now.recipe->excludes[contender->mode] && roll(3) > 0;
    say("%d.%d %s", contender->process->number, contender->number,
        other    ? "asks"
        : writes ? "writes"
                 : "watches");
    enum zr_status status = other    ? now.recipe->other(contender)
                            : writes ? write_token(contender)
                                     : start(contender->hold, "lost", &args, &contender->question);
    after(contender, ASKING, NEVER);
    if (status != ZR_OK)
        after(contender, HOLDING, some_time());
}

static void answered(struct contender *contender)
{
    struct zr_task *task = contender->question;
    say("%d.%d is answered %s", contender->process->number, contender->number,
        zr_status_word(task->status));
    contender->question = NULL;
    if (contender->other)
        now.recipe->other_ended(contender, task->status);
    zr_task_drop(task, true);
    after(contender, HOLDING, some_time());
}

/* ---- Its turn ------------------------------------------------------------------------------ */

void act(struct contender *contender)
{
    if (contender->part == IDLE)
        begin(contender);
    else if (contender->part == WAITING)
        give_up(contender);
    else if (contender->part == REPORTED)
        take_or_leave(contender);
    else if (contender->part == HOLDING && roll(3) == 0)
        ask(contender);
    else if (contender->part == HOLDING)
        release(contender);
}

bool reported(struct contender *contender, struct zr_task *task)
{
    if (task == contender->question)
        answered(contender);
    else if (task == contender->task && contender->part == WAITING)
        after(contender, REPORTED, now.shape.slow_hosts && roll(3) == 0 ? some_time() : 0);
    else
        return false;
    return true;
}
