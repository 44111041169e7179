#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "plain/request_task.h"

/*
 * The methods of a session that are one request each: which request they send, and which
 * combinations of options are misuse. request.c handles the request from then on.
 */

int32_t zr_plain_version(const struct zr_arg *version)
{
    return version->given ? (int32_t)version->integer : ZR_ANY_VERSION;
}

static enum zr_status simple(struct zr_object *self, enum zr_op op, struct zr_args *args,
                             struct zr_bytes data, const struct zr_arg *version,
                             struct zr_task **task)
{
    struct zr_plain *plain;
    enum zr_status status = zr_plain_new(self, op, args->at[0].bytes, data, &plain);
    if (status != ZR_OK)
        return status;
    if (version != NULL)
        plain->call->request.version = zr_plain_version(version);
    return zr_plain_run(plain, zr_plain_timeout_us(args), task);
}

const char *zr_plain_mode(const struct zr_create_options *options, enum zr_mode *mode)
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

enum zr_status zr_plain_create(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    const struct zr_create_options *options = args->options;
    struct zr_plain *plain;
    enum zr_mode mode = ZR_PERSISTENT;
    args->misuse = zr_plain_mode(options, &mode);
    if (args->misuse != NULL)
        return ZR_BAD_ARGUMENTS;
    enum zr_status status =
        zr_plain_new(self, ZR_OP_CREATE, args->at[0].bytes, args->at[1].bytes, &plain);
    if (status == ZR_OK && options->acl.count > 0) {
        status = zr_call_set_acl(plain->call, &options->acl);
        if (status != ZR_OK)
            zr_plain_free(&plain->task);
    }
    if (status != ZR_OK)
        return status;
    plain->parents = options->parents;
    plain->call->request.mode = mode;
    plain->call->request.ttl_ms = options->ttl_us / 1000;
    return zr_plain_run(plain, options->timeout_us, task);
}

enum zr_status zr_plain_get(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_GET, args, ZR_NO_DATA, NULL, task);
}

enum zr_status zr_plain_set(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_SET, args, args->at[1].bytes, &args->at[2], task);
}

enum zr_status zr_plain_exists(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_EXISTS, args, ZR_NO_DATA, NULL, task);
}

enum zr_status zr_plain_delete(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_DELETE, args, ZR_NO_DATA, &args->at[1], task);
}

enum zr_status zr_plain_children(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    return simple(self, ZR_OP_CHILDREN, args, ZR_NO_DATA, NULL, task);
}

enum zr_status zr_plain_get_acl(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_GET_ACL, args, ZR_NO_DATA, NULL, task);
}

enum zr_status zr_plain_sync(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return simple(self, ZR_OP_SYNC, args, ZR_NO_DATA, NULL, task);
}

enum zr_status zr_plain_add_auth(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    struct zr_auth auth = {args->at[0].bytes.at, args->at[1].bytes};
    if (!zr_session_knows_auth((struct zr_session *)self, &auth))
        return simple(self, ZR_OP_ADD_AUTH, args, args->at[1].bytes, NULL, task);
    /* Every connection sends it first; all that is left is to wait for a connection. */
    struct zr_plain *plain;
    enum zr_status status =
        zr_plain_new(self, ZR_OP_SYNC, (struct zr_bytes){"/", 1}, ZR_NO_DATA, &plain);
    return status == ZR_OK ? zr_plain_run(plain, zr_plain_timeout_us(args), task) : status;
}

enum zr_status zr_plain_set_acl(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_plain *plain;
    enum zr_status status =
        zr_plain_new(self, ZR_OP_SET_ACL, args->at[0].bytes, ZR_NO_DATA, &plain);
    if (status != ZR_OK)
        return status;
    plain->call->request.version = zr_plain_version(&args->at[2]);
    status = zr_call_set_acl(plain->call, &args->at[1].acl);
    if (status == ZR_OK)
        return zr_plain_run(plain, zr_plain_timeout_us(args), task);
    zr_plain_free(&plain->task);
    return status;
}

/* gives: the three strings, one after the other, each with its NUL; text->at is null if memory is
   exhausted. */
static enum zr_status join_servers(const struct zr_reconfig_options *options, struct zr_bytes *text)
{
    const struct zr_bytes *from[] = {&options->joining, &options->leaving, &options->members};
    text->length = from[0]->length + from[1]->length + from[2]->length + 3;
    char *at = zr_alloc(text->length);
    text->at = at;
    if (at == NULL)
        return ZR_NO_MEMORY;
    for (int i = 0; i < 3; i++) {
        if (from[i]->length > 0)
            memcpy(at, from[i]->at, from[i]->length);
        at += from[i]->length + 1;
    }
    return ZR_OK;
}

/* Points joining, leaving and members into the request's data, which is such a text. */
static void find_servers(struct zr_request *request, const struct zr_reconfig_options *options)
{
    const struct zr_bytes *from[] = {&options->joining, &options->leaving, &options->members};
    const char **to[] = {&request->joining, &request->leaving, &request->members};
    const char *at = request->data.at;
    for (int i = 0; i < 3; i++) {
        if (from[i]->length > 0)
            *to[i] = at;
        at += from[i]->length + 1;
    }
}

enum zr_status zr_plain_reconfig(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    const struct zr_reconfig_options *options = args->options;
    struct zr_plain *plain;
    if (options->members.length > 0 && (options->joining.length > 0 || options->leaving.length > 0))
        args->misuse = "members replaces the whole list; do not combine it with joining or leaving";
    else if (options->members.length + options->joining.length + options->leaving.length == 0)
        args->misuse = "one of joining, leaving or members is needed";
    if (args->misuse != NULL)
        return ZR_BAD_ARGUMENTS;
    /* The text is the request's data, because the request outlives this task if it is
       interrupted. */
    struct zr_bytes text;
    enum zr_status status = join_servers(options, &text);
    if (status == ZR_OK)
        status = zr_plain_new(self, ZR_OP_RECONFIG, (struct zr_bytes){"/", 1}, text, &plain);
    zr_free((char *)text.at);
    if (status != ZR_OK)
        return status;
    find_servers(&plain->call->request, options);
    return zr_plain_run(plain, options->timeout_us, task);
}

static enum zr_status new_multi(struct zr_object *self, const struct zr_arg *list,
                                struct zr_args *args, struct zr_plain **plain)
{
    if (list->count > 0)
        return zr_plain_new_multi(self, (struct zr_session *)self, ZR_OP_MULTI, NULL, list->parts,
                                  list->count, plain);
    args->misuse = "a multi needs at least one operation";
    return ZR_BAD_ARGUMENTS;
}

/* Several writes in one request, all or none. */
enum zr_status zr_plain_multi(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_plain *plain;
    enum zr_status status = new_multi(self, &args->at[0], args, &plain);
    return status == ZR_OK ? zr_plain_run(plain, zr_plain_timeout_us(args), task) : status;
}

/* multi_in(parts, id): as `multi`, but only in the session with this id; `lost` if it is over. */
enum zr_status zr_plain_multi_in(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    struct zr_session *session = (struct zr_session *)self;
    struct zr_plain *plain;
    if (session->id == 0 || strtoull(args->at[1].bytes.at, NULL, 16) != (uint64_t)session->id)
        return ZR_LOST;
    enum zr_status status = new_multi(self, &args->at[0], args, &plain);
    if (status != ZR_OK)
        return status;
    plain->call->bound = true;
    plain->call->generation = session->generation;
    return zr_plain_run(plain, zr_plain_timeout_us(args), task);
}

/* The caller of `transact` finds out whether the multi was done: the verb ends here. */
static bool leave_to_caller(struct zr_task *task, const struct zr_request *answer)
{
    (void)answer;
    zr_plain_of(task)->doubt->asked = true;
    return true;
}

/* transact(parts): as `multi`; but false if the answer was lost, as soon as a sync is answered
   after that: what a read shows now is the outcome. */
enum zr_status zr_plain_transact(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    struct zr_plain *plain;
    enum zr_status status = new_multi(self, &args->at[0], args, &plain);
    if (status != ZR_OK)
        return status;
    plain->doubt = zr_alloc(sizeof(*plain->doubt));
    if (plain->doubt == NULL) {
        zr_plain_free(&plain->task);
        return ZR_NO_MEMORY;
    }
    plain->doubt->transaction = (struct zr_transaction){.op = ZR_OP_EXISTS, /* any read will do */
                                                        .path = plain->call->request.parts[0].path,
                                                        .was_done = leave_to_caller};
    return zr_plain_run(plain, zr_plain_timeout_us(args), task);
}
