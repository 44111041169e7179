#include "recipes/guarded.h"

#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "plain/request_task.h"
#include "recipes/hold.h"

/*
 * The writes of a hold: one request, all or none, that begins with a check of the hold's own node.
 * If the check fails, the hold is lost and the server has written nothing: so a holder that was
 * paused for too long can do no harm.
 *
 * If the data of the directory say who holds (hold->more->names), a second check is of their
 * version. If it fails, the directory is read: it names the hold still, and the write is sent again
 * with the new version; or the hold is lost.
 */

static void lost_hold(struct zr_task *task)
{
    zr_hold_lost((struct zr_hold *)zr_plain_of(task)->self);
    task->detail = ZR_HOLD_GONE;
    zr_task_finish(task, ZR_LOST);
}

static void directory_was_read(struct zr_task *task)
{
    struct zr_plain *plain = zr_plain_of(task);
    struct zr_hold *hold = (struct zr_hold *)plain->self;
    bool answered = task->outcome == ZR_OK || task->outcome == ZR_NO_NODE;
    if (!answered) {
        zr_verb_fail(task, task->outcome);
    } else if (hold->state == ZR_HELD && hold->more->names(hold, &task->call->request)) {
        plain->call->request.parts[1].version = task->call->request.stat.version;
        zr_plain_send(task);
    } else {
        zr_hold_deposed(hold);
        task->detail = ZR_HOLD_DEPOSED;
        zr_task_finish(task, ZR_LOST);
    }
}

static void read_directory(struct zr_task *task)
{
    const struct zr_hold *hold = (struct zr_hold *)zr_plain_of(task)->self;
    zr_verb_read(task, ZR_OP_GET, hold->seat.dir, false, ZR_STEP(directory_was_read));
}

#define KIND(op, word) [op] = ZR_PLAIN_KIND(word, zr_plain_multi_results, true)

static const struct zr_task_kind of_holds[] = {
    KIND(ZR_OP_CREATE, "hold:create"),
    KIND(ZR_OP_DELETE, "hold:delete"),
    KIND(ZR_OP_SET, "hold:set"),
    KIND(ZR_OP_MULTI, "hold:multi"),
};

static const struct zr_task_kind of_terms[] = {
    KIND(ZR_OP_CREATE, "term:create"),
    KIND(ZR_OP_DELETE, "term:delete"),
    KIND(ZR_OP_SET, "term:set"),
    KIND(ZR_OP_MULTI, "term:multi"),
};

static const struct zr_guard hold_guard = {of_holds, 1, lost_hold, NULL};
static const struct zr_guard term_guard = {of_terms, 1, lost_hold, NULL};
static const struct zr_guard named_guard = {of_terms, 2, lost_hold, read_directory};

static const struct zr_guard *guard_of(const struct zr_hold *hold)
{
    if (hold->object.class == &zr_hold_class)
        return &hold_guard;
    return hold->more->names != NULL ? &named_guard : &term_guard;
}

/* As zr_plain_new_multi, with the second check in front of the parts. */
static enum zr_status new_named(struct zr_hold *hold, enum zr_op op, const struct zr_request *parts,
                                size_t count, struct zr_plain **plain)
{
    struct zr_session *session = hold->session;
    struct zr_request *all = zr_alloc((count + 1) * sizeof(*all));
    if (all == NULL)
        return ZR_NO_MEMORY;
    all[0].op = ZR_OP_CHECK;
    all[0].path = zr_path_inside(session->namespace, hold->seat.dir);
    all[0].version = hold->more->version(hold);
    if (count > 0)
        memcpy(all + 1, parts, count * sizeof(*all));
    enum zr_status status =
        zr_plain_new_multi(&hold->object, session, op, hold->seat.path, all, count + 1, plain);
    zr_free(all);
    return status;
}

static enum zr_status start(struct zr_hold *hold, enum zr_op op, const struct zr_request *parts,
                            size_t count, int64_t timeout_us, struct zr_task **task)
{
    struct zr_session *session = hold->session;
    const struct zr_guard *guard = guard_of(hold);
    struct zr_plain *plain;
    enum zr_status status =
        guard->checks > 1
            ? new_named(hold, op, parts, count, &plain)
            : zr_plain_new_multi(&hold->object, session, op, hold->seat.path, parts, count, &plain);
    if (status != ZR_OK)
        return status;
    plain->guard = guard;
    plain->call->bound = true;
    plain->call->generation = session->generation;
    return zr_plain_run(plain, timeout_us, task);
}

static enum zr_status guarded(struct zr_object *self, enum zr_op op, const struct zr_request *parts,
                              size_t count, int64_t timeout_us, struct zr_args *args,
                              struct zr_task **task)
{
    struct zr_hold *hold = (struct zr_hold *)self;
    if (hold->state == ZR_HELD)
        return start(hold, op, parts, count, timeout_us, task);
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
    args->misuse = zr_plain_mode(&options, &part.mode);
    if (args->misuse != NULL)
        return ZR_BAD_ARGUMENTS;
    return guarded(self, ZR_OP_CREATE, &part, 1, options.timeout_us, args, task);
}

enum zr_status zr_guarded_set(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_request part = {.op = ZR_OP_SET,
                              .path = args->at[0].bytes.at,
                              .data = args->at[1].bytes,
                              .version = zr_plain_version(&args->at[2])};
    return guarded(self, ZR_OP_SET, &part, 1, zr_plain_timeout_us(args), args, task);
}

enum zr_status zr_guarded_delete(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    struct zr_request part = {.op = ZR_OP_DELETE,
                              .path = args->at[0].bytes.at,
                              .version = zr_plain_version(&args->at[1])};
    return guarded(self, ZR_OP_DELETE, &part, 1, zr_plain_timeout_us(args), args, task);
}

enum zr_status zr_guarded_multi(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return guarded(self, ZR_OP_MULTI, args->at[0].parts, args->at[0].count,
                   zr_plain_timeout_us(args), args, task);
}

#define CREATE(name) offsetof(struct zr_create_options, name)

/* A multi of the client library supports neither containers nor a ttl. */
const struct zr_option zr_guarded_create_options[] = {
    {"ephemeral", 'b', CREATE(ephemeral)},
    {"sequential", 'b', CREATE(sequential)},
    {"acl", 'a', CREATE(acl)},
    {"timeout", 't', CREATE(timeout_us)},
    {NULL, 0, 0},
};
