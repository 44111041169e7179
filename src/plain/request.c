#include "plain/request.h"

#include <stdio.h>

#include "core/alloc.h"
#include "core/ephemerals.h"
#include "core/names.h"
#include "core/verbs.h"
#include "plain/request_task.h"

/*
 * One method call is one request:
 * 1. Make it (request_methods.c); wrong combinations of options are misuse.
 * 2. Send it as soon as there is a connection, within its limit.
 * 3. Report the server's answer.
 *
 * What can go wrong: the answer is lost. A read, a sync, add_auth and set_acl are sent again: they
 * do no harm if done twice. Any other write reports connection_loss, unless it certainly was not
 * sent: only the user can know whether to repeat it. With `parents`, a create that finds no parent
 * makes it. The session's namespace is made in any case.
 *
 * The guarded writes of holds (recipes/guarded.c) are such requests too: a multi that begins with a
 * check. So is `transact`: if its answer is lost, it waits until a sync is answered, so that its
 * caller can read what has happened.
 */

/* ---- Answers ------------------------------------------------------------------------------- */

static const char *why(const struct zr_request *request)
{
    bool create = request->op == ZR_OP_CREATE && request->status == ZR_NO_NODE;
    return create ? "its parent does not exist" : zr_status_text(request->status);
}

/* Keeps "part 2 (/a): why" for the message. */
static void explain_part(struct zr_plain *plain, const struct zr_request *request)
{
    size_t first = zr_plain_checks(plain);
    for (size_t i = 0; i < request->part_count; i++) {
        const struct zr_request *part = &request->parts[i];
        if (part->status == ZR_OK || part->status == ZR_CONFLICT)
            continue;
        snprintf(plain->detail, sizeof(plain->detail), "part %zu (%s): %s; no part was done",
                 i + 1 - first, zr_path_inside(plain->task.session->namespace, part->path),
                 why(part));
        plain->task.detail = plain->detail;
        return;
    }
}

static void made_parents(struct zr_task *task)
{
    task->session->namespace_made = true;
    zr_plain_send(task);
}

static void make_parents(struct zr_task *task)
{
    struct zr_plain *plain = zr_plain_of(task);
    const char *path = plain->call->request.path;
    plain->parent = zr_copy(path, zr_path_parent_length(path));
    if (plain->parent != NULL)
        zr_verb_ensure(task, plain->parent, false, ZR_STEP(made_parents));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

/* True if a create failed because a parent is missing that we may make. */
static bool may_make_parents(struct zr_plain *plain, enum zr_status status)
{
    const struct zr_session *session = plain->task.session;
    bool creates = plain->op == ZR_OP_CREATE || plain->op == ZR_OP_MULTI;
    return status == ZR_NO_NODE && creates && plain->guard == NULL && plain->parent == NULL &&
           (plain->parents || (session->namespace[0] != '\0' && !session->namespace_made));
}

static void make_missing(struct zr_task *task)
{
    if (zr_plain_of(task)->parents)
        make_parents(task);
    else
        zr_verb_ensure(task, task->session->namespace, false, ZR_STEP(made_parents));
}

/* An exists that finds no node has succeeded. Credentials of a successful add_auth are kept for
   later handles. */
static enum zr_status judge(const struct zr_plain *plain, const struct zr_request *request)
{
    struct zr_session *session = plain->task.session;
    if (plain->op == ZR_OP_EXISTS && request->status == ZR_NO_NODE)
        return ZR_OK;
    if (request->op != ZR_OP_ADD_AUTH || request->status != ZR_OK)
        return request->status;
    struct zr_auth auth = {request->path, request->data};
    return zr_session_knows_auth(session, &auth) ? ZR_OK : zr_session_learn_auth(session, &auth);
}

static void explain(struct zr_plain *plain, const struct zr_request *request, enum zr_status status)
{
    if (request->part_count > 0 && status != ZR_OK && status != ZR_CONNECTION_LOSS)
        explain_part(plain, request);
    if (plain->op == ZR_OP_CREATE && plain->guard == NULL && !plain->parents &&
        status == ZR_NO_NODE)
        plain->task.detail = "its parent does not exist; pass parents = true to create it";
}

/* True if this check of its guard has failed. */
static bool refused_by(const struct zr_plain *plain, size_t check, enum zr_status status)
{
    const struct zr_request *request = &plain->call->request;
    return check < zr_plain_checks(plain) && request->status == status &&
           request->parts[check].status == status;
}

static void answered(struct zr_task *task)
{
    struct zr_plain *plain = zr_plain_of(task);
    plain->call = task->call; /* kept for the results, or to be sent again */
    task->call = NULL;
    const struct zr_request *request = &plain->call->request;
    plain->outcome = request->status;
    enum zr_status status = judge(plain, request);
    if (plain->doubt != NULL && plain->doubt->asked) {
        zr_task_finish(task, ZR_OK);
    } else if (may_make_parents(plain, status)) {
        make_missing(task);
    } else if (refused_by(plain, 0, ZR_NO_NODE)) {
        plain->guard->gone(task);
    } else if (refused_by(plain, 1, ZR_BAD_VERSION)) {
        plain->guard->changed(task);
    } else {
        explain(plain, request, status);
        zr_task_finish(task, status);
    }
}

static bool harmless_twice(enum zr_op op)
{
    return op != ZR_OP_CREATE && op != ZR_OP_DELETE && op != ZR_OP_SET && op != ZR_OP_RECONFIG &&
           op != ZR_OP_MULTI;
}

void zr_plain_send(struct zr_task *task)
{
    struct zr_plain *plain = zr_plain_of(task);
    struct zr_call *call = plain->call;
    plain->call = NULL;
    if (plain->doubt != NULL)
        zr_verb_transact(task, call, &plain->doubt->transaction, ZR_STEP(answered));
    else
        zr_verb_request(task, call, harmless_twice(plain->op), ZR_STEP(answered));
}

/* ---- Making -------------------------------------------------------------------------------- */

static enum zr_status new_task(struct zr_object *self, enum zr_op op, const char *subject,
                               struct zr_plain **out)
{
    struct zr_plain *plain = zr_alloc(sizeof(*plain));
    if (plain == NULL)
        return ZR_NO_MEMORY;
    plain->op = op;
    plain->self = zr_object_ref(self);
    plain->subject = zr_copy_string(subject);
    *out = plain;
    if (plain->subject != NULL)
        return ZR_OK;
    zr_plain_free(&plain->task);
    return ZR_NO_MEMORY;
}

enum zr_status zr_plain_new(struct zr_object *self, enum zr_op op, struct zr_bytes path,
                            struct zr_bytes data, struct zr_plain **out)
{
    struct zr_session *session = (struct zr_session *)self;
    enum zr_status status = zr_session_usable(session);
    if (status == ZR_OK)
        status = new_task(self, op, path.at, out);
    if (status != ZR_OK)
        return status;
    status = zr_call_new(session, op, path.at, data, &(*out)->call);
    if (status != ZR_OK)
        zr_plain_free(&(*out)->task);
    return status;
}

enum zr_status zr_plain_new_multi(struct zr_object *self, struct zr_session *session, enum zr_op op,
                                  const char *check, const struct zr_request *parts, size_t count,
                                  struct zr_plain **out)
{
    const char *subject = count > 0 ? parts[0].path : "the check alone";
    enum zr_status status = zr_session_usable(session);
    if (status == ZR_OK)
        status = new_task(self, op, subject, out);
    if (status != ZR_OK)
        return status;
    status = zr_call_new_multi(session, check, parts, count, &(*out)->call);
    if (status != ZR_OK)
        zr_plain_free(&(*out)->task);
    return status;
}

int64_t zr_plain_timeout_us(const struct zr_args *args)
{
    return ((const struct zr_request_options *)args->options)->timeout_us;
}

enum zr_status zr_plain_run(struct zr_plain *plain, int64_t timeout_us, struct zr_task **task)
{
    struct zr_session *session = plain->call->session;
    enum zr_status status = zr_call_fits(plain->call);
    if (status == ZR_OK)
        status = zr_ephemerals_reserve(plain->call);
    if (status != ZR_OK) {
        zr_plain_free(&plain->task);
        return status;
    }
    *task = &plain->task;
    const struct zr_task_kind *kinds = plain->guard != NULL ? plain->guard->kinds : zr_plain_kinds;
    zr_task_start(*task, &kinds[plain->op], session, plain->subject,
                  timeout_us >= 0 ? timeout_us : zr_session_patience_us(session),
                  ZR_STEP(zr_plain_send));
    return ZR_OK;
}
