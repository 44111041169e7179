#include "plain/request_task.h"

#include "core/alloc.h"
#include "core/names.h"

/* The results of each method of request.c, and the descriptions of its options. */

struct zr_plain *zr_plain_of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_plain, task);
}

size_t zr_plain_checks(const struct zr_plain *plain)
{
    return plain->guard != NULL ? plain->guard->checks : 0;
}

void zr_plain_free(struct zr_task *task)
{
    struct zr_plain *plain = zr_plain_of(task);
    struct zr_object *self = plain->self;
    zr_call_free(plain->call);
    if (plain->doubt != NULL)
        zr_transaction_fini(&plain->doubt->transaction);
    zr_free(plain->doubt);
    zr_free(plain->subject);
    zr_free(plain->parent);
    zr_free(plain);
    zr_object_unref(self);
}

/* ---- Results ------------------------------------------------------------------------------- */

/* The path as the user writes it. */
static void emit_path(const struct zr_plain *plain, struct zr_sink *sink, const char *path)
{
    zr_emit_string(sink, NULL, zr_path_inside(plain->task.session->namespace, path));
}

static void emit_names(struct zr_sink *sink, const struct zr_names *names)
{
    sink->begin(sink, NULL);
    for (size_t i = 0; i < names->count; i++)
        zr_emit_string(sink, NULL, names->at[i]);
    sink->end(sink);
}

static void emit_perms(struct zr_sink *sink, int32_t perms)
{
    char letters[6];
    size_t count = 0;
    for (int i = 0; i < 5; i++)
        if (perms & 1 << i)
            letters[count++] = "rwcda"[i];
    sink->bytes(sink, "perms", (struct zr_bytes){letters, count});
}

static void emit_acl(struct zr_sink *sink, const struct zr_acl_reply *acl)
{
    sink->begin(sink, NULL);
    for (size_t i = 0; i < acl->count; i++) {
        sink->begin(sink, NULL);
        emit_perms(sink, acl->at[i].perms);
        zr_emit_string(sink, "scheme", acl->at[i].scheme);
        zr_emit_string(sink, "id", acl->at[i].id);
        sink->end(sink);
    }
    sink->end(sink);
}

static void emit_part(const struct zr_plain *plain, struct zr_sink *sink,
                      const struct zr_request *part)
{
    if (part->op == ZR_OP_CREATE)
        emit_path(plain, sink, part->created);
    else if (part->op == ZR_OP_SET)
        zr_emit_stat(sink, NULL, &part->stat);
    else
        sink->boolean(sink, NULL, true);
}

void zr_plain_multi_results(struct zr_task *task, struct zr_sink *sink)
{
    const struct zr_plain *plain = zr_plain_of(task);
    const struct zr_request *request = &plain->call->request;
    size_t first = zr_plain_checks(plain);
    if (plain->doubt != NULL && plain->doubt->asked) {
        sink->boolean(sink, NULL, false);
        return;
    }
    if (plain->op != ZR_OP_MULTI) {
        emit_part(plain, sink, &request->parts[first]);
        return;
    }
    sink->begin(sink, NULL);
    for (size_t i = first; i < request->part_count; i++)
        emit_part(plain, sink, &request->parts[i]);
    sink->end(sink);
}

static void results(struct zr_task *task, struct zr_sink *sink)
{
    const struct zr_plain *plain = zr_plain_of(task);
    const struct zr_request *request = &plain->call->request;
    if (plain->op == ZR_OP_EXISTS && plain->outcome == ZR_NO_NODE) {
        sink->boolean(sink, NULL, false);
        return;
    }
    switch ((int)plain->op) {
    case ZR_OP_CREATE:
        emit_path(plain, sink, request->created);
        break;
    case ZR_OP_GET:
        sink->bytes(sink, NULL, request->data_reply);
        break;
    case ZR_OP_CHILDREN:
        emit_names(sink, request->names);
        break;
    case ZR_OP_GET_ACL:
        emit_acl(sink, request->acl_reply);
        break;
    case ZR_OP_RECONFIG:
        sink->bytes(sink, NULL, request->data_reply);
        break;
    case ZR_OP_DELETE:
    case ZR_OP_SYNC:
    case ZR_OP_ADD_AUTH:
    case ZR_OP_SET_ACL:
        sink->boolean(sink, NULL, true);
        return;
    }
    zr_emit_stat(sink, NULL, &request->stat);
}

/* ---- Kinds and options --------------------------------------------------------------------- */

#define KIND(op, word, changes) [op] = ZR_PLAIN_KIND(word, results, changes)

const struct zr_task_kind zr_plain_kinds[] = {
    KIND(ZR_OP_CREATE, "session:create", true),
    KIND(ZR_OP_DELETE, "session:delete", true),
    KIND(ZR_OP_EXISTS, "session:exists", false),
    KIND(ZR_OP_GET, "session:get", false),
    KIND(ZR_OP_SET, "session:set", true),
    KIND(ZR_OP_CHILDREN, "session:children", false),
    KIND(ZR_OP_SYNC, "session:sync", false),
    KIND(ZR_OP_GET_ACL, "session:get_acl", false),
    KIND(ZR_OP_SET_ACL, "session:set_acl", true),
    KIND(ZR_OP_ADD_AUTH, "session:add_auth", false),
    KIND(ZR_OP_RECONFIG, "session:reconfig", true),
    [ZR_OP_MULTI] = ZR_PLAIN_KIND("session:multi", zr_plain_multi_results, true),
};

#define CREATE(name) offsetof(struct zr_create_options, name)

const struct zr_option zr_create_options[] = {
    {"ephemeral", 'b', CREATE(ephemeral)},
    {"sequential", 'b', CREATE(sequential)},
    {"container", 'b', CREATE(container)},
    {"ttl", 't', CREATE(ttl_us)},
    {"acl", 'a', CREATE(acl)},
    {"parents", 'b', CREATE(parents)},
    {"timeout", 't', CREATE(timeout_us)},
    {NULL, 0, 0},
};

#define RECONFIG(name) offsetof(struct zr_reconfig_options, name)

const struct zr_option zr_reconfig_options[] = {
    {"joining", 's', RECONFIG(joining)},
    {"leaving", 's', RECONFIG(leaving)},
    {"members", 's', RECONFIG(members)},
    {"timeout", 't', RECONFIG(timeout_us)},
    {NULL, 0, 0},
};

const struct zr_option zr_request_options[] = {
    {"timeout", 't', offsetof(struct zr_request_options, timeout_us)},
    {NULL, 0, 0},
};
