/*
 * Transactions.
 * 1. One block holds what the library reads, and the results that it writes.
 * 2. The completion copies the results into the parts of the request.
 */
#include "zk/client_parts.h"

#include <string.h>

#include "core/alloc.h"
#include "zk/completion.h"
#include "zk/decode.h"
#include "zk/reply.h"

/* The library writes into this until the completion. One block: three arrays and the entries. */
struct multi {
    struct zr_link link; /* in the client's multis */
    struct zr_request *request;
    zoo_op_t *ops;
    zoo_op_result_t *results;
    struct Stat *stats;
    struct ACL_vector *acls;
    struct ACL *entries;
};

/* The library aborts the process if a multi contains any other operation. */
static bool permitted(const struct zr_request *request)
{
    for (size_t i = 0; i < request->part_count; i++) {
        enum zr_op op = request->parts[i].op;
        bool plain = op == ZR_OP_CREATE && request->parts[i].mode < ZR_CONTAINER;
        if (!plain && op != ZR_OP_DELETE && op != ZR_OP_SET && op != ZR_OP_CHECK)
            return false;
    }
    return request->part_count > 0;
}

static struct multi *multi_new(struct zr_request *request)
{
    size_t count = request->part_count, entries = 0;
    for (size_t i = 0; i < count; i++)
        entries += request->parts[i].acl.count;
    struct multi *multi = zr_alloc(sizeof *multi + entries * sizeof(struct ACL) +
                                   count * (sizeof(zoo_op_t) + sizeof(zoo_op_result_t) +
                                            sizeof(struct Stat) + sizeof(struct ACL_vector)));
    if (multi == NULL)
        return NULL;
    multi->request = request;
    multi->ops = (zoo_op_t *)(multi + 1);
    multi->results = (zoo_op_result_t *)(multi->ops + count);
    multi->stats = (struct Stat *)(multi->results + count);
    multi->acls = (struct ACL_vector *)(multi->stats + count);
    multi->entries = (struct ACL *)(multi->acls + count);
    return multi;
}

static void fill_part(struct multi *multi, size_t i)
{
    struct zr_request *part = &multi->request->parts[i];
    zoo_op_t *op = &multi->ops[i];
    if (part->op == ZR_OP_CREATE) {
        multi->acls[i] = zr_reply_vector(multi->entries, part->acl);
        multi->entries += part->acl.count;
        zoo_create_op_init(op, part->path, part->data.at, zr_reply_length(part->data),
                           &multi->acls[i], (int)part->mode, part->created,
                           (int)strlen(part->path) + 12);
    } else if (part->op == ZR_OP_DELETE) {
        zoo_delete_op_init(op, part->path, part->version);
    } else if (part->op == ZR_OP_SET) {
        zoo_set_op_init(op, part->path, part->data.at, zr_reply_length(part->data), part->version,
                        &multi->stats[i]);
    } else {
        zoo_check_op_init(op, part->path, part->version);
    }
}

/*
 * If one part fails, no part is done. But the server reports the parts before it as done and the
 * parts after it as inconsistent.
 */
static enum zr_status finish_part(struct multi *multi, size_t i, enum zr_status whole)
{
    struct zr_request *part = &multi->request->parts[i];
    int code = multi->results[i].err;
    part->sent = true;
    part->status = zr_reply_status(code);
    if (whole == ZR_CONNECTION_LOSS)
        part->status = ZR_CONNECTION_LOSS;
    else if (whole != ZR_OK && (code == ZOK || code == ZRUNTIMEINCONSISTENCY))
        part->status = ZR_CONFLICT;
    if (part->op == ZR_OP_SET && part->status == ZR_OK)
        zr_reply_stat(part, multi->results[i].stat);
    bool named = part->op != ZR_OP_CREATE || part->status != ZR_OK || zr_reply_is_created(part);
    return named ? ZR_OK : ZR_CONNECTION_LOSS;
}

/* The server's answer about the parts cannot be read: it is unknown what was done. */
static void doubt_parts(struct zr_request *request)
{
    for (size_t i = 0; i < request->part_count; i++)
        request->parts[i].status = ZR_CONNECTION_LOSS;
}

static void on_multi(int rc, const void *with)
{
    struct multi *multi = (struct multi *)with;
    struct zr_request *request = zr_completion_take(multi->request);
    enum zr_status decoded = zr_decode_result();
    enum zr_status whole = decoded != ZR_OK ? ZR_CONNECTION_LOSS : zr_reply_status(rc);
    for (size_t i = 0; i < request->part_count; i++)
        if (finish_part(multi, i, whole) != ZR_OK)
            decoded = ZR_CONNECTION_LOSS;
    zr_unlink(&multi->link);
    zr_free(multi);
    if (decoded != ZR_OK) {
        whole = zr_completion_unread(request, decoded);
        doubt_parts(request);
    }
    zr_completion_finish(request, whole);
}

size_t zr_client_multi_parts(const struct zr_handle *handle)
{
    struct zr_link *first = zr_list_first((struct zr_list *)&handle->client.multis);
    return first != NULL ? ZR_HOLDER(first, struct multi, link)->request->part_count : 0;
}

int zr_client_call_multi(struct zr_handle *handle, struct zr_request *request)
{
    if (!permitted(request))
        return ZBADARGUMENTS;
    struct multi *multi = multi_new(request);
    if (multi == NULL)
        return ZSYSTEMERROR;
    for (size_t i = 0; i < request->part_count; i++)
        fill_part(multi, i);
    int rc = zoo_amulti(handle->client.zh, (int)request->part_count, multi->ops, multi->results,
                        on_multi, multi);
    if (rc == ZOK)
        zr_list_append(&handle->client.multis, &multi->link);
    else
        zr_free(multi);
    return rc;
}
