#include "plain/session_class.h"

#include <stdlib.h>

#include "core/alloc.h"
#include "core/call.h"
#include "core/verbs.h"
#include "plain/request.h"

/*
 * The session as a class: its state, its end, and the plain requests of request.c.
 *
 * connected: waits for that state. close: ends the session, then waits until the server has been
 * told, or the limit has passed. next_state: one step of the stream of states.
 */

struct wait {
    struct zr_task task;
    int64_t
        cursor; /* next_state: how many states the caller has seen; later the index of the result */
};

static struct zr_session *of(struct zr_object *self)
{
    return (struct zr_session *)self;
}

static void wait_free(struct zr_task *task)
{
    zr_free(ZR_HOLDER(task, struct wait, task));
}

static enum zr_status start_wait(struct zr_session *session, const struct zr_task_kind *kind,
                                 int64_t cursor, int64_t timeout_us, struct zr_next first,
                                 struct zr_task **task)
{
    struct wait *wait = zr_alloc(sizeof(*wait));
    if (wait == NULL)
        return ZR_NO_MEMORY;
    wait->cursor = cursor;
    *task = &wait->task;
    zr_task_start(*task, kind, session, session->hosts, timeout_us, first);
    return ZR_OK;
}

/* ---- connected ----------------------------------------------------------------------------- */

static void check_connected(struct zr_task *task)
{
    if (task->session->state == ZR_CONNECTED)
        zr_task_finish(task, ZR_OK);
    else
        zr_verb_await(task, &task->session->changed, ZR_STEP(check_connected));
}

static const struct zr_task_kind connected_kind = {
    .name = "session:connected", .local = true, .results = zr_emit_true, .free = wait_free};

static enum zr_status start_connected(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task)
{
    enum zr_status status = zr_session_usable(of(self));
    if (status != ZR_OK)
        return status;
    return start_wait(of(self), &connected_kind, 0, args->at[0].given ? args->at[0].integer : -1,
                      ZR_STEP(check_connected), task);
}

/* ---- close --------------------------------------------------------------------------------- */

static void check_ended(struct zr_task *task)
{
    if (zr_session_ended(task->session))
        zr_task_finish(task, ZR_OK);
    else
        zr_verb_await(task, &task->session->changed, ZR_STEP(check_ended));
}

static const struct zr_task_kind close_kind = {
    .name = "session:close", .results = zr_emit_true, .free = wait_free};

static enum zr_status start_close(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    int64_t limit_us = args->at[0].given ? args->at[0].integer : ZR_LINGER_US;
    if (zr_engine_forked(of(self)->engine))
        return ZR_FORKED;
    zr_session_close(of(self), limit_us);
    return start_wait(of(self), &close_kind, 0, -1, ZR_STEP(check_ended), task);
}

/* ---- next_state ---------------------------------------------------------------------------- */

static void check_state(struct zr_task *task)
{
    struct wait *wait = ZR_HOLDER(task, struct wait, task);
    struct zr_session *session = task->session;
    /* A caller that was away for long misses the oldest states. */
    if (session->state_count - wait->cursor > ZR_STATES_KEPT)
        wait->cursor = session->state_count - ZR_STATES_KEPT;
    if (wait->cursor < session->state_count)
        zr_task_finish(task, ZR_OK);
    else if (session->state == ZR_STATE_CLOSED)
        zr_task_finish(task, session->reason);
    else
        zr_verb_await(task, &session->changed, ZR_STEP(check_state));
}

static void state_results(struct zr_task *task, struct zr_sink *sink)
{
    int64_t cursor = ZR_HOLDER(task, struct wait, task)->cursor;
    enum zr_state state = task->session->states[cursor % ZR_STATES_KEPT];
    zr_emit_string(sink, NULL, zr_state_word(state));
    sink->integer(sink, NULL, cursor + 1);
}

static const struct zr_task_kind state_kind = {
    .name = "session:states", .outlives = true, .results = state_results, .free = wait_free};

static enum zr_status start_next_state(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task)
{
    if (zr_engine_forked(of(self)->engine))
        return ZR_FORKED;
    int64_t cursor = args->at[0].integer > 0 ? args->at[0].integer : 0;
    return start_wait(of(self), &state_kind, cursor, -1, ZR_STEP(check_state), task);
}

/* ---- The class ----------------------------------------------------------------------------- */

static void get_state(struct zr_object *self, struct zr_sink *sink)
{
    zr_emit_string(sink, NULL, zr_state_word(of(self)->state));
}

static void get_id(struct zr_object *self, struct zr_sink *sink)
{
    if (of(self)->id != 0)
        sink->id(sink, NULL, of(self)->id);
    else
        sink->nothing(sink, NULL);
}

static void get_timeout(struct zr_object *self, struct zr_sink *sink)
{
    sink->number(sink, NULL, of(self)->timeout_ms / 1e3);
}

static void get_request_timeout(struct zr_object *self, struct zr_sink *sink)
{
    if (of(self)->request_timeout_us >= 0)
        sink->number(sink, NULL, (double)of(self)->request_timeout_us / 1e6);
    else
        sink->nothing(sink, NULL);
}

static void get_server(struct zr_object *self, struct zr_sink *sink)
{
    if (of(self)->server[0] != '\0')
        zr_emit_string(sink, NULL, of(self)->server);
    else
        sink->nothing(sink, NULL);
}

/* session:usage() */
static enum zr_status call_usage(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    const struct zr_session *session = of(self);
    (void)args;
    sink->begin(sink, NULL);
    sink->integer(sink, "watches", (int64_t)session->watches.count);
    sink->integer(sink, "watched_bytes", (int64_t)session->watched.used);
    sink->integer(sink, "watched_bytes_limit", (int64_t)session->watched.limit);
    sink->integer(sink, "ephemeral_bytes", (int64_t)session->ephemeral.used);
    sink->integer(sink, "ephemeral_bytes_limit", (int64_t)session->ephemeral.limit);
    sink->integer(sink, "in_flight", session->in_flight);
    sink->integer(sink, "in_flight_limit", ZR_IN_FLIGHT_MAX);
    sink->end(sink);
    return ZR_OK;
}

/* tag(id): a new tag of the session with this id. */
static enum zr_status call_tag(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    char tag[ZR_TAG];
    zr_session_tag(of(self), (int64_t)strtoull(args->at[0].bytes.at, NULL, 16), tag);
    zr_emit_string(sink, NULL, tag);
    return ZR_OK;
}

/* Why it is not connected, if that is known. */
static void get_trouble(struct zr_object *self, struct zr_sink *sink)
{
    const struct zr_session *session = of(self);
    if (session->state != ZR_CONNECTED && session->trouble != NULL)
        zr_emit_string(sink, NULL, session->trouble);
    else
        sink->nothing(sink, NULL);
}

/* The user has dropped the session itself; locks and holds may still need it. */
static void forget(struct zr_object *self)
{
    struct zr_session *session = of(self);
    if (!session->forgotten && !zr_engine_forked(session->engine)) {
        session->forgotten = true;
        zr_object_ref(self);
        zr_session_unuse(session);
    }
}

static const struct zr_method methods[] = {
    {.name = "connected", .args = "t?", .start = start_connected},
    {.name = "close", .args = "t?", .start = start_close},
    {.name = "next_state", .args = "i", .start = start_next_state},
    ZR_PLAIN_METHODS,
    {.name = "usage", .args = "", .call = call_usage},
    {.name = "await_gone", .args = "pt?", .start = zr_await_gone},
    {.name = "tag", .args = "s", .call = call_tag, .inner = true},
    {.name = NULL},
};

static const struct zr_property properties[] = {{"state", get_state},
                                                {"id", get_id},
                                                {"timeout", get_timeout},
                                                {"request_timeout", get_request_timeout},
                                                {"server", get_server},
                                                {"trouble", get_trouble},
                                                {NULL, NULL}};

const struct zr_class zr_session_class = {"session", methods, properties, forget, zr_session_free};
