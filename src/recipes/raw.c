#include "recipes/raw.h"

#include <stdio.h>

#include "core/alloc.h"
#include "core/ephemerals.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/hold.h"
#include "recipes/raw_task.h"
#include "recipes/recipes.h"

/*
 * One method call is one request:
 * 1. Make it (raw_methods.c); wrong combinations of options are misuse.
 * 2. Send it as soon as there is a connection, within its limit.
 * 3. Report the server's answer.
 *
 * What can go wrong: the answer is lost. A read, a sync, add_auth and set_acl are sent again: they
 * do no harm if done twice. Any other write reports connection_loss, unless it certainly was not
 * sent: only the user can know whether to repeat it. With `parents`, a create that finds no parent
 * makes it. The session's namespace is made in any case.
 *
 * Several writes in one request, and the guarded writes of holds, are in raw_multi.c.
 */

static void send(struct zr_task *task);

/* ---- Answers ------------------------------------------------------------------------------- */

static const char *why(const struct zr_request *request)
{
    bool create = request->op == ZR_OP_CREATE && request->status == ZR_NO_NODE;
    return create ? "its parent does not exist" : zr_status_text(request->status);
}

/* Keeps "part 2 (/a): why" for the message. */
static void explain_part(struct raw *raw, const struct zr_request *request)
{
    size_t first = raw->hold != NULL;
    for (size_t i = 0; i < request->part_count; i++) {
        const struct zr_request *part = &request->parts[i];
        if (part->status == ZR_OK || part->status == ZR_CONFLICT)
            continue;
        snprintf(raw->detail, sizeof(raw->detail), "part %zu (%s): %s; none was done",
                 i + 1 - first, zr_path_inside(raw->task.session->namespace, part->path),
                 why(part));
        raw->task.detail = raw->detail;
        return;
    }
}

static void lost_hold(struct zr_task *task)
{
    struct raw *raw = raw_of(task);
    zr_hold_lost(raw->hold);
    task->detail = "the hold's own znode is gone, somebody else may hold it; nothing was written";
    zr_task_finish(task, ZR_LOST);
}

static void made_parents(struct zr_task *task)
{
    task->session->namespace_made = true;
    send(task);
}

static void make_parents(struct zr_task *task)
{
    struct raw *raw = raw_of(task);
    const char *path = raw->call->request.path;
    raw->parent = zr_copy(path, zr_path_parent_length(path));
    if (raw->parent != NULL)
        zr_verb_ensure(task, raw->parent, false, ZR_STEP(made_parents));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

/* True if a create failed because a parent is missing that we may make. */
static bool may_make_parents(struct raw *raw, enum zr_status status)
{
    const struct zr_session *session = raw->task.session;
    bool creates = raw->op == ZR_OP_CREATE || raw->op == ZR_OP_MULTI;
    return status == ZR_NO_NODE && creates && raw->hold == NULL && raw->parent == NULL &&
           (raw->parents || (session->namespace[0] != '\0' && !session->namespace_made));
}

static void make_missing(struct zr_task *task)
{
    if (raw_of(task)->parents)
        make_parents(task);
    else
        zr_verb_ensure(task, task->session->namespace, false, ZR_STEP(made_parents));
}

/* An exists that finds no node has succeeded. Credentials of a successful add_auth are kept for
   later handles. */
static enum zr_status judge(const struct raw *raw, const struct zr_request *request)
{
    struct zr_session *session = raw->task.session;
    if (raw->op == ZR_OP_EXISTS && request->status == ZR_NO_NODE)
        return ZR_OK;
    if (request->op != ZR_OP_ADD_AUTH || request->status != ZR_OK)
        return request->status;
    struct zr_auth auth = {request->path, request->data};
    return zr_session_knows_auth(session, &auth) ? ZR_OK : zr_session_learn_auth(session, &auth);
}

static void explain(struct raw *raw, const struct zr_request *request, enum zr_status status)
{
    if (request->part_count > 0 && status != ZR_OK && status != ZR_CONNECTION_LOSS)
        explain_part(raw, request);
    if (raw->op == ZR_OP_CREATE && raw->hold == NULL && !raw->parents && status == ZR_NO_NODE)
        raw->task.detail = "its parent does not exist; parents = true makes it";
}

static void answered(struct zr_task *task)
{
    struct raw *raw = raw_of(task);
    raw->call = task->call; /* kept for the results, or to be sent again */
    task->call = NULL;
    const struct zr_request *request = &raw->call->request;
    raw->outcome = request->status;
    enum zr_status status = judge(raw, request);
    if (may_make_parents(raw, status)) {
        make_missing(task);
    } else if (raw->hold != NULL && status == ZR_NO_NODE &&
               request->parts[0].status == ZR_NO_NODE) {
        lost_hold(task);
    } else {
        explain(raw, request, status);
        zr_task_finish(task, status);
    }
}

static bool harmless_twice(enum zr_op op)
{
    return op != ZR_OP_CREATE && op != ZR_OP_DELETE && op != ZR_OP_SET && op != ZR_OP_RECONFIG &&
           op != ZR_OP_MULTI;
}

static void send(struct zr_task *task)
{
    struct raw *raw = raw_of(task);
    struct zr_call *call = raw->call;
    raw->call = NULL;
    zr_verb_request(task, call, harmless_twice(raw->op), ZR_STEP(answered));
}

/* ---- Making -------------------------------------------------------------------------------- */

struct zr_session *raw_session(struct zr_object *self)
{
    return self->class == &zr_session_class ? (struct zr_session *)self
                                            : ((struct zr_hold *)self)->session;
}

enum zr_status raw_new(struct zr_object *self, enum zr_op op, const char *subject, struct raw **out)
{
    struct raw *raw = zr_alloc(sizeof(*raw));
    if (raw == NULL)
        return ZR_NO_MEMORY;
    raw->op = op;
    raw->self = zr_object_ref(self);
    raw->subject = zr_copy_string(subject);
    *out = raw;
    if (raw->subject != NULL)
        return ZR_OK;
    raw_free(&raw->task);
    return ZR_NO_MEMORY;
}

enum zr_status raw_make(struct zr_object *self, enum zr_op op, struct zr_bytes path,
                        struct zr_bytes data, struct raw **out)
{
    struct zr_session *session = raw_session(self);
    enum zr_status status = zr_session_usable(session);
    if (status == ZR_OK)
        status = raw_new(self, op, path.at, out);
    if (status != ZR_OK)
        return status;
    status = zr_call_new(session, op, path.at, data, &(*out)->call);
    if (status != ZR_OK)
        raw_free(&(*out)->task);
    return status;
}

int64_t raw_timeout_us(const struct zr_args *args)
{
    return ((const struct zr_request_options *)args->options)->timeout_us;
}

enum zr_status raw_run(struct raw *raw, int64_t timeout_us, struct zr_task **task)
{
    struct zr_session *session = raw_session(raw->self);
    enum zr_status status = zr_call_fits(raw->call);
    if (status == ZR_OK)
        status = zr_ephemerals_reserve(raw->call);
    if (status != ZR_OK) {
        raw_free(&raw->task);
        return status;
    }
    *task = &raw->task;
    zr_task_start(*task, raw_kind(raw->op, raw->hold != NULL), session, raw->subject,
                  timeout_us >= 0 ? timeout_us : zr_session_patience_us(session), ZR_STEP(send));
    return ZR_OK;
}
