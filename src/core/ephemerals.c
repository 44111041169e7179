#include "core/ephemerals.h"

#include <string.h>

#include "core/alloc.h"

/*
 * 1. Before a call goes out its bytes are reserved (call->reserved).
 * 2. Created: the node gets an entry under its path, and the bytes are the entry's. Refused or not
 *    sent: they are the call's until it is freed.
 * 3. This session deletes the node: the entry goes, and the bytes with it.
 *
 * What can go wrong: the answer is lost, or there is no memory for the entry. Then the bytes count
 * until the session ends, and so do those of a node that somebody else deletes: rather too many
 * than too few.
 */

#define LENGTH_BYTES 4 /* in front of each path */
#define NUMBER_BYTES 10

struct entry {
    struct zr_node node;
    size_t bytes;
    char path[];
};

size_t zr_ephemeral_bytes(size_t length)
{
    return length + NUMBER_BYTES + LENGTH_BYTES;
}

bool zr_ephemerals_take(struct zr_session *session, size_t bytes)
{
    return zr_budget_take(&session->ephemeral, session, bytes, ZR_EPHEMERAL_BYTES_MAX);
}

void zr_ephemerals_give(struct zr_session *session, size_t bytes)
{
    zr_budget_give(&session->ephemeral, bytes);
}

/* ---- Requests and their parts -------------------------------------------------------------- */

static const struct zr_request *parts_of(const struct zr_request *request, size_t *count)
{
    *count = request->part_count > 0 ? request->part_count : 1;
    return request->part_count > 0 ? request->parts : request;
}

static bool makes_ephemeral(const struct zr_request *part)
{
    return part->op == ZR_OP_CREATE &&
           (part->mode == ZR_EPHEMERAL || part->mode == ZR_EPHEMERAL_SEQUENTIAL);
}

enum zr_status zr_ephemerals_reserve(struct zr_call *call)
{
    size_t count, bytes = 0;
    const struct zr_request *parts = parts_of(&call->request, &count);
    for (size_t i = 0; i < count; i++)
        if (makes_ephemeral(&parts[i]))
            bytes += zr_ephemeral_bytes(strlen(parts[i].path));
    if (bytes > 0 && !zr_ephemerals_take(call->session, bytes))
        return ZR_FULL;
    call->reserved = bytes;
    return ZR_OK;
}

static void remember(struct zr_call *call, const struct zr_request *part)
{
    struct zr_session *session = call->session;
    size_t bytes = zr_ephemeral_bytes(strlen(part->path)), length = strlen(part->created);
    struct entry *entry = zr_alloc(sizeof(*entry) + length + 1);
    call->reserved -= bytes;
    if (entry != NULL) {
        memcpy(entry->path, part->created, length + 1);
        entry->bytes = bytes;
        if (zr_table_add(&session->ephemerals, &entry->node, entry->path) == ZR_OK)
            return;
    }
    zr_free(entry);
    session->unsure_bytes += bytes;
}

static void forget(struct zr_session *session, const char *path)
{
    struct zr_node *node = zr_table_find(&session->ephemerals, path);
    if (node == NULL)
        return;
    struct entry *entry = ZR_HOLDER(node, struct entry, node);
    zr_table_remove(&session->ephemerals, node);
    zr_ephemerals_give(session, entry->bytes);
    zr_free(entry);
}

void zr_ephemerals_answered(struct zr_call *call)
{
    const struct zr_request *request = &call->request;
    if (call->sent_in != call->session->generation)
        return; /* whatever it made is gone */
    if (request->status == ZR_CONNECTION_LOSS && request->sent) {
        call->session->unsure_bytes += call->reserved;
        call->reserved = 0;
    }
    if (request->status != ZR_OK)
        return;
    size_t count;
    const struct zr_request *parts = parts_of(request, &count);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].op == ZR_OP_DELETE)
            forget(call->session, parts[i].path);
        else if (call->reserved > 0 && makes_ephemeral(&parts[i]))
            remember(call, &parts[i]);
    }
}

void zr_ephemerals_drop(struct zr_session *session)
{
    struct zr_node *node;
    while ((node = zr_table_any(&session->ephemerals)) != NULL)
        forget(session, node->key);
    zr_ephemerals_give(session, session->unsure_bytes);
    session->unsure_bytes = 0;
}
