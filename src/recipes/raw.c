#include "recipes/raw.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/ephemerals.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/hold.h"
#include "recipes/raw_task.h"

/*
 * One method call is one request:
 * 1. Make it; wrong combinations of options are misuse.
 * 2. Send it as soon as there is a connection, within the session's timeout.
 * 3. Report what the server says.
 *
 * What can go wrong: the answer is lost. A read, a sync, add_auth and set_acl are sent again: they
 * do no harm twice. Any other write reports connection_loss, unless it surely was not sent: only
 * the user can know whether to repeat it. With `parents`, a create that finds no parent makes it;
 * the session's namespace is made in any case.
 *
 * Several writes in one, and the guarded writes of holds, are in raw_multi.c.
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

/* A node could not be created because something above it is missing, and we may make that. */
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

static bool knows_auth(const struct zr_session *session, const char *scheme,
                       struct zr_bytes credential)
{
    for (size_t i = 0; i < session->auth_count; i++) {
        const struct zr_auth *known = &session->auth[i];
        if (strcmp(known->scheme, scheme) == 0 && known->credential.length == credential.length &&
            memcmp(known->credential.at, credential.at, credential.length) == 0)
            return true;
    }
    return false;
}

/* What add_auth has taught the session is said again by every later handle. */
static enum zr_status remember_auth(struct zr_session *session, const struct zr_request *request)
{
    struct zr_auth *longer = zr_alloc((session->auth_count + 1) * sizeof(*longer));
    char *scheme = zr_copy_string(request->path);
    char *credential = zr_copy(request->data.at, request->data.length);
    if (longer == NULL || scheme == NULL || credential == NULL) {
        zr_free(longer);
        zr_free(scheme);
        zr_free(credential);
        return ZR_NO_MEMORY;
    }
    if (session->auth_count > 0)
        memcpy(longer, session->auth, session->auth_count * sizeof(*longer));
    longer[session->auth_count++] = (struct zr_auth){scheme, {credential, request->data.length}};
    zr_free(session->auth);
    session->auth = longer;
    return ZR_OK;
}

static void answered(struct zr_task *task)
{
    struct raw *raw = raw_of(task);
    raw->call = task->call; /* kept for the results, or to be sent again */
    task->call = NULL;
    const struct zr_request *request = &raw->call->request;
    enum zr_status status = raw->outcome = request->status;
    if (raw->op == ZR_OP_EXISTS && status == ZR_NO_NODE)
        status = ZR_OK;
    if (request->op == ZR_OP_ADD_AUTH && status == ZR_OK &&
        !knows_auth(task->session, request->path, request->data))
        status = remember_auth(task->session, request);
    if (may_make_parents(raw, status)) {
        make_missing(task);
        return;
    }
    if (raw->hold != NULL && status == ZR_NO_NODE && request->parts[0].status == ZR_NO_NODE) {
        lost_hold(task);
        return;
    }
    if (request->part_count > 0 && status != ZR_OK && status != ZR_CONNECTION_LOSS)
        explain_part(raw, request);
    if (raw->op == ZR_OP_CREATE && raw->hold == NULL && !raw->parents && status == ZR_NO_NODE)
        task->detail = "its parent does not exist; parents = true makes it";
    zr_task_finish(task, status);
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

static enum zr_status make(struct zr_object *self, enum zr_op op, struct zr_bytes path,
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

enum zr_status raw_run(struct raw *raw, struct zr_task **task)
{
    struct zr_session *session = raw_session(raw->self);
    enum zr_status status = zr_ephemerals_reserve(raw->call);
    if (status != ZR_OK) {
        raw_free(&raw->task);
        return status;
    }
    *task = &raw->task;
    zr_task_start(*task, raw_kind(raw->op, raw->hold != NULL), session, raw->subject,
                  zr_session_patience_us(session), ZR_STEP(send));
    return ZR_OK;
}

static enum zr_status simple(struct zr_object *self, enum zr_op op, struct zr_args *args,
                             struct zr_bytes data, const struct zr_arg *version,
                             struct zr_task **task)
{
    struct raw *raw;
    enum zr_status status = make(self, op, args->at[0].bytes, data, &raw);
    if (status != ZR_OK)
        return status;
    if (version != NULL && version->given)
        raw->call->request.version = (int32_t)version->integer;
    return raw_run(raw, task);
}

const char *raw_mode(const struct zr_create_options *options, enum zr_mode *mode)
{
    bool ttl = options->ttl_us >= 0;
    if (options->container && (options->ephemeral || options->sequential || ttl))
        return "a container can be neither ephemeral nor sequential nor have a ttl";
    if (options->ephemeral && ttl)
        return "an ephemeral znode cannot have a ttl";
    if (ttl && options->ttl_us < 1000)
        return "a ttl must be at least 0.001 seconds";
    if (options->container)
        *mode = ZR_CONTAINER;
    else if (ttl)
        *mode = options->sequential ? ZR_PERSISTENT_SEQUENTIAL_TTL : ZR_PERSISTENT_TTL;
    else
        *mode = (options->ephemeral ? ZR_EPHEMERAL : 0) |
                (options->sequential ? ZR_PERSISTENT_SEQUENTIAL : 0);
    return NULL;
}

enum zr_status zr_raw_create(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    const struct zr_create_options *options = args->options;
    struct raw *raw;
    enum zr_mode mode = ZR_PERSISTENT;
    args->misuse = raw_mode(options, &mode);
    if (args->misuse != NULL)
        return ZR_BAD_ARGUMENTS;
    enum zr_status status = make(self, ZR_OP_CREATE, args->at[0].bytes, args->at[1].bytes, &raw);
    if (status == ZR_OK && options->acl.count > 0) {
        status = zr_call_set_acl(raw->call, &options->acl);
        if (status != ZR_OK)
            raw_free(&raw->task);
    }
    if (status != ZR_OK)
        return status;
    raw->parents = options->parents;
    raw->call->request.mode = mode;
    raw->call->request.ttl_ms = options->ttl_us / 1000;
    return raw_run(raw, task);
}

enum zr_status zr_raw_get(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_GET, args, ZR_NO_DATA, NULL, task);
}

enum zr_status zr_raw_set(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_SET, args, args->at[1].bytes, &args->at[2], task);
}

enum zr_status zr_raw_exists(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_EXISTS, args, ZR_NO_DATA, NULL, task);
}

enum zr_status zr_raw_delete(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_DELETE, args, ZR_NO_DATA, &args->at[1], task);
}

enum zr_status zr_raw_children(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_CHILDREN, args, ZR_NO_DATA, NULL, task);
}

enum zr_status zr_raw_get_acl(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_GET_ACL, args, ZR_NO_DATA, NULL, task);
}

enum zr_status zr_raw_sync(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_SYNC, args, ZR_NO_DATA, NULL, task);
}

enum zr_status zr_raw_add_auth(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    const struct zr_session *session = (struct zr_session *)self;
    if (!knows_auth(session, args->at[0].bytes.at, args->at[1].bytes))
        return simple(self, ZR_OP_ADD_AUTH, args, args->at[1].bytes, NULL, task);
    /* Every connection begins with it; that there is one is all that is left to see. */
    struct raw *raw;
    enum zr_status status = make(self, ZR_OP_SYNC, (struct zr_bytes){"/", 1}, ZR_NO_DATA, &raw);
    return status == ZR_OK ? raw_run(raw, task) : status;
}

enum zr_status zr_raw_set_acl(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct raw *raw;
    enum zr_status status = make(self, ZR_OP_SET_ACL, args->at[0].bytes, ZR_NO_DATA, &raw);
    if (status != ZR_OK)
        return status;
    if (args->at[2].given)
        raw->call->request.version = (int32_t)args->at[2].integer;
    status = zr_call_set_acl(raw->call, &args->at[1].acl);
    if (status == ZR_OK)
        return raw_run(raw, task);
    raw_free(&raw->task);
    return status;
}

enum zr_status zr_raw_reconfig(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    const struct zr_reconfig_options *options = args->options;
    struct raw *raw;
    if (options->members.length > 0 && (options->joining.length > 0 || options->leaving.length > 0))
        args->misuse = "members is a whole new list; it goes without joining and leaving";
    else if (options->members.length + options->joining.length + options->leaving.length == 0)
        args->misuse = "one of joining, leaving and members is needed";
    if (args->misuse != NULL)
        return ZR_BAD_ARGUMENTS;
    /* As the data of the request, which outlives this task when it is interrupted. */
    struct zr_bytes text;
    enum zr_status status = raw_join_servers(options, &text);
    if (status == ZR_OK)
        status = make(self, ZR_OP_RECONFIG, (struct zr_bytes){"/", 1}, text, &raw);
    zr_free((char *)text.at);
    if (status != ZR_OK)
        return status;
    raw_find_servers(&raw->call->request, options);
    return raw_run(raw, task);
}
