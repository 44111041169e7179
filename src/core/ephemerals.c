#include "core/ephemerals.h"

#include <string.h>

#include "core/alloc.h"

/*
 * 1. Before a call goes out its bytes are reserved (call->reserved).
 * 2. The create succeeds: the znode gets an entry under its path, and the bytes are the entry's. It
 *    is refused or not sent: the bytes are the call's until the call is freed.
 * 3. The znode is gone: the entry goes, and the bytes with it. What shows that it is gone: this
 *    session deletes it; an event says that it was deleted; a request about this path is answered
 *    with NO_NODE; or a create of the same path succeeds.
 *
 * Other sessions delete our znodes too: the last member of a round deletes what the others have
 * made. Whatever this session asks about such a path settles it.
 *
 * What can go wrong: the answer to a create is lost. The znode may be there, so it gets an entry
 * like one that surely is; if its name has a number of the server's in it, the bytes count until
 * the session ends. The same when there is no memory for an entry: rather too many than too few.
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

void zr_ephemerals_gone(struct zr_session *session, const char *path)
{
    struct zr_node *node = zr_table_find(&session->ephemerals, path);
    if (node == NULL)
        return;
    struct entry *entry = ZR_HOLDER(node, struct entry, node);
    zr_table_remove(&session->ephemerals, node);
    zr_ephemerals_give(session, entry->bytes);
    zr_free(entry);
}

/* The bytes that were reserved for this part are those of the node at `path` from now on; null: of
   a node whose name nobody knows. */
static void remember(struct zr_call *call, const struct zr_request *part, const char *path)
{
    struct zr_session *session = call->session;
    size_t bytes = zr_ephemeral_bytes(strlen(part->path));
    size_t length = path != NULL ? strlen(path) : 0;
    struct entry *entry = path != NULL ? zr_alloc(sizeof(*entry) + length + 1) : NULL;
    call->reserved -= bytes;
    if (entry != NULL) {
        zr_ephemerals_gone(session, path);
        memcpy(entry->path, path, length + 1);
        entry->bytes = bytes;
        if (zr_table_add(&session->ephemerals, &entry->node, entry->path) == ZR_OK)
            return;
    }
    zr_free(entry);
    session->unsure_bytes += bytes;
}

/* The answer was lost. */
static void remember_unsure(struct zr_call *call, const struct zr_request *part)
{
    remember(call, part, part->mode == ZR_EPHEMERAL ? part->path : NULL);
}

static void settle(struct zr_call *call, const struct zr_request *part)
{
    const struct zr_request *whole = &call->request;
    bool lost = whole->status == ZR_CONNECTION_LOSS && whole->sent;
    if (part->op == ZR_OP_CREATE) {
        if (call->reserved > 0 && makes_ephemeral(part) && lost)
            remember_unsure(call, part);
        else if (call->reserved > 0 && makes_ephemeral(part) && whole->status == ZR_OK)
            remember(call, part, part->created);
    } else if (part->status == ZR_NO_NODE ||
               (part->op == ZR_OP_DELETE && whole->status == ZR_OK)) {
        zr_ephemerals_gone(call->session, part->path);
    }
}

void zr_ephemerals_answered(struct zr_call *call)
{
    if (call->sent_in != call->session->generation)
        return; /* whatever it made is gone */
    if (call->session->ephemerals.count == 0 && call->reserved == 0)
        return;
    size_t count;
    const struct zr_request *parts = parts_of(&call->request, &count);
    for (size_t i = 0; i < count; i++)
        settle(call, &parts[i]);
}

void zr_ephemerals_drop(struct zr_session *session)
{
    struct zr_node *node;
    while ((node = zr_table_any(&session->ephemerals)) != NULL)
        zr_ephemerals_gone(session, node->key);
    zr_ephemerals_give(session, session->unsure_bytes);
    session->unsure_bytes = 0;
}
