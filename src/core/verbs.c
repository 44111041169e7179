#include "core/verbs.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verb_parts.h"
#include "core/watch.h"

/*
 * The verbs that are a single wait. Like the longer ones (contend.c, ensure.c), each calls
 * zr_part_begin to name the function that continues, and then sets one source of a wake-up: a
 * request, a signal or a pause.
 */

void zr_part_begin(struct zr_task *task, void (*resume)(struct zr_task *task))
{
    zr_call_free(task->call);
    task->call = NULL;
    zr_seats_unref(task->seats);
    task->seats = NULL;
    task->asking = false;
    task->resume = resume;
}

void zr_part_done(struct zr_task *task)
{
    zr_task_verb_done(task, task->outcome);
}

void zr_part_fail(struct zr_task *task, enum zr_status status)
{
    zr_part_begin(task, zr_part_done);
    zr_task_wake(task, status);
}

static void answered(struct zr_call *call)
{
    struct zr_task *task = call->owner;
    task->outcome = call->request.status;
    task->resume(task);
}

void zr_part_send(struct zr_task *task, struct zr_call *call, void (*resume)(struct zr_task *))
{
    zr_part_begin(task, resume);
    task->call = call;
    task->asking = true;
    zr_call_start(call, answered, task);
}

static void pause_over(struct zr_timer *timer)
{
    struct zr_task *task = ZR_HOLDER(timer, struct zr_task, pause);
    task->outcome = ZR_OK;
    task->resume(task);
}

void zr_part_pause(struct zr_task *task, int64_t duration_us, void (*resume)(struct zr_task *))
{
    struct zr_engine *engine = task->session->engine;
    zr_part_begin(task, resume);
    int64_t jitter = (int64_t)zr_engine_random(engine, (uint64_t)duration_us / 2 + 1);
    zr_timer_start(&engine->timers, &task->pause,
                   zr_engine_now_us(engine) + duration_us * 3 / 4 + jitter, pause_over);
}

/* ---- Verbs --------------------------------------------------------------------------------- */

static void always_next(struct zr_task *task)
{
    zr_task_verb_done(task, ZR_OK);
}

static void request_answered(struct zr_task *task)
{
    bool lost = task->outcome == ZR_CONNECTION_LOSS;
    bool again = lost && (task->repeat || !task->call->request.sent);
    if (again && !zr_call_stale(task->call)) {
        zr_call_again(task->call);
        return;
    }
    if (again)
        task->outcome = task->call->request.status = ZR_LOST;
    if (task->call->request.sent)
        zr_task_explain_answer(task, task->outcome);
    zr_task_verb_done(task, ZR_OK);
}

void zr_verb_request(struct zr_task *task, struct zr_call *call, bool repeat, struct zr_next next)
{
    task->next = next;
    task->repeat = repeat;
    zr_part_send(task, call, request_answered);
}

void zr_verb_ask(struct zr_task *task, const struct zr_request *what, bool repeat,
                 struct zr_next next)
{
    struct zr_call *call;
    enum zr_status status =
        zr_call_new_full(task->session, what->op, what->path, what->data, &call);
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    call->request.version = what->version;
    call->request.mode = what->mode;
    call->request.watch = what->watch;
    zr_verb_request(task, call, repeat, next);
}

enum zr_status zr_verb_try_read(struct zr_task *task, enum zr_op op, const char *path, bool watch,
                                struct zr_next next)
{
    struct zr_call *call;
    enum zr_status status = zr_call_new_full(task->session, op, path, ZR_NO_DATA, &call);
    if (status != ZR_OK)
        return status;
    call->request.watch = watch;
    zr_verb_request(task, call, true, next);
    return ZR_OK;
}

void zr_verb_read(struct zr_task *task, enum zr_op op, const char *path, bool watch,
                  struct zr_next next)
{
    enum zr_status status = zr_verb_try_read(task, op, path, watch, next);
    if (status != ZR_OK)
        zr_verb_fail(task, status);
}

void zr_part_list(struct zr_task *task, const char *dir, void (*resume)(struct zr_task *))
{
    zr_part_begin(task, resume);
    enum zr_status status = zr_listing_ask(task, dir);
    if (status != ZR_OK)
        zr_part_fail(task, status);
}

/* The loss of the session drops all listings. It also ends the tasks that are bound to the session,
   so a task that comes here with ZR_LOST continues with the next session. */
static void list_answered(struct zr_task *task)
{
    if (task->outcome == ZR_LOST)
        zr_part_list(task, task->path, list_answered);
    else
        zr_task_verb_done(task, task->outcome == ZR_NO_NODE ? ZR_OK : task->outcome);
}

void zr_verb_list(struct zr_task *task, const char *dir, struct zr_next next)
{
    task->next = next;
    task->path = dir;
    zr_part_list(task, dir, list_answered);
}

static void wait_over(struct zr_task *task)
{
    if (task->outcome == ZR_CONFLICT && task->detail == NULL)
        task->detail = "a znode in the way is not ephemeral, so no session's end deletes it";
    zr_task_explain_answer(task, task->outcome);
    zr_part_done(task);
}

/* The caller has set up the wait already, because it needed what zr_part_begin frees. status:
   ZR_OK, or why it could not. */
static void wait_for(struct zr_task *task, enum zr_status status, struct zr_next next)
{
    bool asking = task->asking;
    task->next = next;
    if (status != ZR_OK) {
        zr_part_fail(task, status);
        return;
    }
    zr_part_begin(task, wait_over);
    task->asking = asking;
}

static void await_node(struct zr_task *task, bool contends, int64_t czxid, zr_enough *enough)
{
    task->contends = contends;
    task->awaited = czxid;
    task->enough = enough;
    task->word = 0;
    task->told = task->asking = false;
}

/* A seat of this session needs no watch. */
static enum zr_status await_seat(struct zr_task *task, const char *path)
{
    struct zr_seat *ours = zr_seat_find(task->session, path);
    if (ours == NULL)
        return zr_watch_gone(task, path, ZR_WATCHED_BYTES_MAX);
    zr_list_append(&ours->gone.tasks, &task->in_signal);
    zr_signal_tell(&ours->gone, ours->word);
    return ZR_OK;
}

enum zr_status zr_part_await_gone(struct zr_task *task, const char *path, zr_enough *enough)
{
    await_node(task, true, 0, enough);
    return await_seat(task, path);
}

void zr_verb_await_gone(struct zr_task *task, const char *dir, const char *name, zr_enough *enough,
                        struct zr_next next)
{
    char *path = zr_path_child(dir, name);
    enum zr_status status = path != NULL ? zr_part_await_gone(task, path, enough) : ZR_NO_MEMORY;
    zr_free(path);
    wait_for(task, status, next);
}

/* Any node at this path is in the way, whatever its name is. */
void zr_verb_await_free(struct zr_task *task, const char *path, struct zr_next next)
{
    await_node(task, false, 0, NULL);
    wait_for(task, await_seat(task, path), next);
}

void zr_verb_await_deleted(struct zr_task *task, const char *path, int64_t czxid,
                           struct zr_next next)
{
    await_node(task, false, czxid, NULL);
    wait_for(task, zr_watch_gone(task, path, ZR_WATCHED_BYTES_COMMON), next);
}

void zr_verb_await_presence(struct zr_task *task, const char *path, bool there, struct zr_next next)
{
    wait_for(task, zr_watch_presence(task, path, there), next);
}

void zr_verb_await(struct zr_task *task, struct zr_signal *signal, struct zr_next next)
{
    task->next = next;
    zr_part_begin(task, always_next);
    zr_list_append(&signal->tasks, &task->in_signal);
}

void zr_verb_await_change(struct zr_task *task, struct zr_watch *watch, int64_t seen,
                          struct zr_next next)
{
    task->next = next;
    zr_part_begin(task, always_next);
    zr_watch_await(task, watch, seen);
}

static void change_or_end(struct zr_task *task)
{
    zr_timer_stop(&task->session->engine->timers, &task->pause);
    zr_task_verb_done(task, ZR_OK);
}

static void waited_enough(struct zr_timer *timer)
{
    zr_task_wake(ZR_HOLDER(timer, struct zr_task, pause), ZR_OK);
}

void zr_verb_await_change_for(struct zr_task *task, struct zr_watch *watch, int64_t seen,
                              int64_t most_us, struct zr_next next)
{
    struct zr_engine *engine = task->session->engine;
    task->next = next;
    zr_part_begin(task, change_or_end);
    zr_watch_await(task, watch, seen);
    zr_timer_start(&engine->timers, &task->pause, zr_engine_now_us(engine) + most_us,
                   waited_enough);
}

void zr_verb_pause(struct zr_task *task, int64_t duration_us, struct zr_next next)
{
    task->next = next;
    zr_part_pause(task, duration_us, zr_part_done);
}

void zr_verb_fail(struct zr_task *task, enum zr_status status)
{
    zr_part_fail(task, status);
}
