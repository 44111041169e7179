#include "core/task.h"

#include "core/alloc.h"
#include "core/call.h"
#include "core/seats.h"
#include "core/session.h"

/*
 * 1. zr_task_start runs the first step; its last act is a verb, which names the next step.
 * 2. The verb waits for a request, a signal or a pause, and ends in zr_task_verb_done: next step.
 * 3. zr_task_finish: the task has ended, and its waiter is woken.
 * 4. zr_task_drop: the binding has the results. The memory is freed after both 3 and 4.
 *
 * What can go wrong: a verb fails, the deadline passes, the waiter gives up, the session is lost or
 * closed. Each of these reports at once and begins the clean-up. Only the loss of the session
 * affects a clean-up that is running: it starts again, to find out that nothing is left.
 */

/* ---- Ending -------------------------------------------------------------------------------- */

/* Removes the verb in flight from everything that could wake the task. */
static void stop_waiting(struct zr_task *task)
{
    zr_unlink(&task->in_ready);
    zr_unlink(&task->in_signal);
    if (task->watch != NULL)
        task->session->above->left(task);
    zr_timer_stop(&task->session->engine->timers, &task->pause);
    zr_call_free(task->call);
    task->call = NULL;
    zr_seats_unref(task->seats);
    task->seats = NULL;
}

static void report(struct zr_task *task, enum zr_status status)
{
    if (task->reported)
        return;
    task->reported = true;
    task->status = status;
    zr_timer_stop(&task->session->engine->timers, &task->deadline);
    if (task->waited) {
        zr_list_append(&task->session->engine->reported, &task->in_report);
        zr_engine_poke(task->session->engine);
    }
}

void zr_task_release(struct zr_task *task)
{
    if (task->phase != ZR_ENDED || task->waited)
        return;
    struct zr_session *session = task->session;
    stop_waiting(task);
    zr_task_forget_detail(task);
    task->phase = ZR_IDLE;
    task->kind->free(task);
    zr_object_unref(&session->object);
}

static void end(struct zr_task *task)
{
    task->phase = ZR_ENDED;
    zr_unlink(&task->in_session);
    zr_unlink(&task->in_owner);
    zr_task_release(task);
}

static void clean(struct zr_task *task)
{
    stop_waiting(task);
    task->phase = ZR_CLEANING;
    if (task->kind->clean != NULL)
        task->kind->clean(task);
    else
        end(task);
}

void zr_task_finish(struct zr_task *task, enum zr_status status)
{
    report(task, status);
    end(task);
}

void zr_task_interrupt(struct zr_task *task, enum zr_status status)
{
    if (task->phase != ZR_RUNNING)
        return;
    zr_task_note_doubt(task);
    report(task, status);
    clean(task);
}

/* As an interruption, for a verb that has failed or a limit that has passed. */
static void fail(struct zr_task *task, enum zr_status status)
{
    if (task->phase != ZR_RUNNING || task->kind->give_up == NULL) {
        zr_task_interrupt(task, status);
        return;
    }
    stop_waiting(task);
    task->outcome = status;
    task->kind->give_up(task);
}

void zr_task_session_over(struct zr_task *task, enum zr_status status)
{
    if (task->phase == ZR_CLEANING) {
        clean(task);
        return;
    }
    if (task->phase == ZR_RUNNING)
        zr_task_explain_end(task, status);
    zr_task_interrupt(task, status);
}

void zr_task_verb_done(struct zr_task *task, enum zr_status status)
{
    struct zr_next next = task->next;
    task->losses = 0;
    if (status == ZR_OK)
        next.step(task);
    else if (task->phase == ZR_CLEANING)
        zr_task_finish(task, status);
    else
        fail(task, status);
}

/* The waiter may run long after the task has ended: other coroutines ran first, and the process was
   paused meanwhile. */
void zr_task_settle(struct zr_task *task)
{
    bool changes = task->status == ZR_OK && task->kind->still != NULL;
    enum zr_status status = changes ? task->kind->still(task) : ZR_OK;
    if (status == ZR_OK)
        return;
    task->spoiled = true;
    task->status = status;
    if (status == ZR_LOST)
        task->detail = "it may be lost, because the caller could not run in time; call again";
}

void zr_task_drop(struct zr_task *task, bool taken)
{
    bool unused = task->spoiled || (!taken && task->status == ZR_OK);
    bool undo = unused && task->phase == ZR_ENDED;
    zr_unlink(&task->in_report);
    task->waited = false;
    if (task->phase == ZR_RUNNING)
        zr_task_interrupt(task, ZR_CANCELED);
    else if (undo && task->kind->discard != NULL)
        task->kind->discard(task);
    else
        zr_task_release(task);
}

void zr_task_detach(struct zr_task *task)
{
    zr_unlink(&task->in_report);
    task->waited = false;
    zr_task_release(task);
}

/* ---- Going on ------------------------------------------------------------------------------ */

static void unanswered(struct zr_task *task)
{
    task->detail = zr_task_silence(task);
    fail(task, ZR_CONNECTION_LOSS);
}

static void deadline_passed(struct zr_timer *timer)
{
    struct zr_task *task = ZR_HOLDER(timer, struct zr_task, deadline);
    bool connected = task->session->state == ZR_CONNECTED;
    bool asking = task->kind->asking != NULL ? task->kind->asking(task) : task->asking;
    bool no_time = task->tries && task->kind->local;
    if ((connected && (!asking || no_time)) || task->kind->own)
        fail(task, ZR_TIMEOUT);
    else
        unanswered(task);
}

static void tried_in_vain(struct zr_timer *timer)
{
    unanswered(ZR_HOLDER(timer, struct zr_task, deadline));
}

void zr_task_end_tries(struct zr_session *session)
{
    ZR_LIST_EACH (link, &session->tasks) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_session);
        if (task->tries && !task->kind->local && task->phase == ZR_RUNNING)
            unanswered(task);
    }
}

static void begin(struct zr_task *task, const struct zr_task_kind *kind, struct zr_session *session,
                  enum zr_phase phase, struct zr_next first)
{
    task->kind = kind;
    task->session = session;
    zr_object_ref(&session->object);
    task->phase = phase;
    task->status = ZR_OK;
    zr_task_forget_detail(task);
    task->cut_off = session->state != ZR_CONNECTED;
    task->asking = task->tries = task->doubtful = task->spoiled = false;
    task->connections = session->connections;
    task->next = first;
    zr_list_append(&session->tasks, &task->in_session);
}

void zr_task_start(struct zr_task *task, const struct zr_task_kind *kind,
                   struct zr_session *session, const char *subject, int64_t timeout_us,
                   struct zr_next first)
{
    struct zr_engine *engine = session->engine;
    task->subject = subject;
    task->waited = true;
    task->reported = false;
    begin(task, kind, session, ZR_RUNNING, first);
    task->tries = timeout_us == 0;
    bool round_trip = task->tries && !kind->local, hopeless = round_trip && task->cut_off;
    if (round_trip)
        timeout_us = hopeless ? 0 : zr_session_try_us(session);
    if (timeout_us >= 0)
        zr_timer_start(&engine->timers, &task->deadline, zr_engine_now_us(engine) + timeout_us,
                       hopeless ? tried_in_vain : deadline_passed);
    if (hopeless)
        zr_engine_poke(engine); /* the next dispatch ends it */
    else
        first.step(task);
}

void zr_task_limit(struct zr_task *task, int64_t timeout_us)
{
    struct zr_engine *engine = task->session->engine;
    zr_timer_stop(&engine->timers, &task->deadline);
    if (timeout_us >= 0)
        zr_timer_start(&engine->timers, &task->deadline, zr_engine_now_us(engine) + timeout_us,
                       deadline_passed);
}

void zr_task_start_cleaning(struct zr_task *task, const struct zr_task_kind *kind,
                            struct zr_session *session)
{
    task->waited = false;
    task->reported = true;
    begin(task, kind, session, ZR_CLEANING, ZR_STEP(kind->clean));
    kind->clean(task);
}

void zr_task_wake(struct zr_task *task, enum zr_status outcome)
{
    zr_unlink(&task->in_signal);
    task->watch = NULL;
    if (zr_linked(&task->in_ready))
        return; /* the task sees only the outcome that woke it first */
    task->outcome = outcome;
    zr_list_append(&task->session->engine->ready, &task->in_ready);
    zr_engine_poke(task->session->engine);
}

void zr_signal_fire(struct zr_signal *signal, enum zr_status outcome)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&signal->tasks)) != NULL)
        zr_task_wake(ZR_HOLDER(link, struct zr_task, in_signal), outcome);
}

void zr_signal_tell(struct zr_signal *signal, int64_t word)
{
    ZR_LIST_EACH (link, &signal->tasks) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        if (task->enough == NULL || !task->enough(task, word))
            continue;
        task->told = true;
        task->word = word;
        zr_task_wake(task, ZR_OK);
    }
}
