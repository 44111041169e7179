#include "recipes/hold.h"
#include "recipes/raw_task.h"

/*
 * Several writes in one request, all or none: `multi` of a session, and every write of a hold. A
 * hold's write begins with a check of the hold's own node. If the check fails, the hold is lost and
 * the server has written nothing: so a holder that was paused for too long can do no harm.
 */

static enum zr_status start_multi(struct zr_object *self, struct zr_hold *hold, const char *subject,
                                  enum zr_op op, const struct zr_request *parts, size_t count,
                                  int64_t timeout_us, struct zr_task **task)
{
    struct zr_session *session = raw_session(self);
    struct raw *raw;
    enum zr_status status = zr_session_usable(session);
    if (status == ZR_OK)
        status = raw_new(self, op, subject, &raw);
    if (status != ZR_OK)
        return status;
    raw->hold = hold;
    status =
        zr_call_new_multi(session, hold != NULL ? hold->seat.path : NULL, parts, count, &raw->call);
    if (status != ZR_OK) {
        raw_free(&raw->task);
        return status;
    }
    raw->call->bound = hold != NULL;
    raw->call->generation = session->generation;
    return raw_run(raw, timeout_us, task);
}

enum zr_status zr_raw_multi(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    const struct zr_arg *list = &args->at[0];
    if (list->part_count == 0) {
        args->misuse = "a multi needs at least one operation";
        return ZR_BAD_ARGUMENTS;
    }
    return start_multi(self, NULL, list->parts[0].path, ZR_OP_MULTI, list->parts, list->part_count,
                       raw_timeout_us(args), task);
}

static enum zr_status guarded(struct zr_object *self, enum zr_op op, const struct zr_request *parts,
                              size_t count, int64_t timeout_us, struct zr_args *args,
                              struct zr_task **task)
{
    struct zr_hold *hold = (struct zr_hold *)self;
    const char *subject = count > 0 ? parts[0].path : "the check alone";
    if (hold->state == ZR_HELD)
        return start_multi(self, hold, subject, op, parts, count, timeout_us, task);
    if (hold->why == ZR_OK)
        args->misuse = "the hold was released; acquire again before writing under it";
    return hold->why;
}

enum zr_status zr_guarded_create(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    struct zr_create_options options = *(const struct zr_create_options *)args->options;
    struct zr_request part = {.op = ZR_OP_CREATE,
                              .path = args->at[0].bytes.at,
                              .data = args->at[1].bytes,
                              .acl = options.acl};
    options.ttl_us = -1; /* not offered in a multi */
    args->misuse = raw_mode(&options, &part.mode);
    if (args->misuse != NULL)
        return ZR_BAD_ARGUMENTS;
    return guarded(self, ZR_OP_CREATE, &part, 1, options.timeout_us, args, task);
}

enum zr_status zr_guarded_set(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_request part = {.op = ZR_OP_SET,
                              .path = args->at[0].bytes.at,
                              .data = args->at[1].bytes,
                              .version = raw_version(&args->at[2])};
    return guarded(self, ZR_OP_SET, &part, 1, raw_timeout_us(args), args, task);
}

enum zr_status zr_guarded_delete(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    struct zr_request part = {
        .op = ZR_OP_DELETE, .path = args->at[0].bytes.at, .version = raw_version(&args->at[1])};
    return guarded(self, ZR_OP_DELETE, &part, 1, raw_timeout_us(args), args, task);
}

enum zr_status zr_guarded_multi(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return guarded(self, ZR_OP_MULTI, args->at[0].parts, args->at[0].part_count,
                   raw_timeout_us(args), args, task);
}
