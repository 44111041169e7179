#include "core/ephemerals.h"

#include <string.h>

#include "core/alloc.h"
#include "core/budget.h"

/*
 * 1. Before a call is sent, its bytes are reserved (call->reserved).
 * 2. If the create succeeds, the znode gets an entry under its path, and the bytes belong to the
 *    entry. If it is refused or not sent, they belong to the call until the call is freed.
 * 3. When the znode is gone, its entry and the bytes go. It is gone if this session deletes it; if
 *    an event says that it was deleted; if a request about this path is answered with NO_NODE; or
 *    if a create of the same path succeeds.
 *
 * Other sessions delete our znodes too: the last member of a round deletes the znodes of all
 * members. Any request of this session about such a path settles it. Without such requests the
 * count would only grow. So from half of the budget on, each time the bytes have grown by a
 * sixteenth, and when the budget is used up, the session asks about each entry, one after the
 * other: an audit.
 *
 * What can go wrong: the answer to a create is lost. The znode may be there, so it gets an entry as
 * if it certainly were; if the call is sent again, that entry counts for it. If the server appended
 * a number to its name, the path is unknown, and the bytes count until the session ends. If there
 * is no memory for an entry, the bytes count until then too: it is better to count too many than
 * too few.
 */

#define LENGTH_BYTES 4 /* in front of each path */
#define NUMBER_BYTES 10

#define AUDIT_FROM (ZR_EPHEMERAL_BYTES_MAX / 2)
#define AUDIT_GROWTH (ZR_EPHEMERAL_BYTES_MAX / 16)

struct entry {
    struct zr_node node;
    struct zr_link in_session;
    size_t bytes;
    char path[];
};

size_t zr_ephemeral_bytes(size_t length)
{
    return length + NUMBER_BYTES + LENGTH_BYTES;
}

/* ---- Audits -------------------------------------------------------------------------------- */

static void ask_next(struct zr_session *session);

/* If the node is gone, the answer has removed its entry already. */
static void asked(struct zr_call *call)
{
    struct zr_session *session = call->session;
    zr_call_free(call);
    ask_next(session);
}

static struct zr_call *new_question(struct zr_session *session)
{
    struct zr_link *first = session->audit_left > 0 ? zr_list_shift(&session->to_audit) : NULL;
    struct zr_call *call = NULL;
    if (first == NULL)
        return NULL;
    session->audit_left--;
    zr_list_append(&session->to_audit, first);
    const char *path = ZR_HOLDER(first, struct entry, in_session)->path;
    return zr_call_new_full(session, ZR_OP_EXISTS, path, ZR_NO_DATA, &call) == ZR_OK ? call : NULL;
}

static void ask_next(struct zr_session *session)
{
    struct zr_call *call = new_question(session);
    session->auditing = call != NULL;
    if (call == NULL) {
        session->audited = session->ephemeral.used;
        return;
    }
    call->bound = true;
    call->generation = session->generation;
    zr_call_start(call, asked, NULL);
}

static bool must_audit(const struct zr_session *session, bool full)
{
    size_t used = session->ephemeral.used;
    bool grown = used > AUDIT_FROM && used > session->audited + AUDIT_GROWTH;
    return (full || grown) && !session->auditing && session->ephemerals.count > 0;
}

/* ---- The budget ---------------------------------------------------------------------------- */

bool zr_ephemerals_take(struct zr_session *session, size_t bytes)
{
    bool taken = zr_budget_take(&session->ephemeral, session, bytes, ZR_EPHEMERAL_BYTES_MAX);
    if (must_audit(session, !taken)) {
        session->audit_left = session->ephemerals.count;
        ask_next(session);
    }
    return taken;
}

size_t zr_ephemerals_room(const struct zr_session *session)
{
    size_t used = session->ephemeral.used;
    return used < ZR_EPHEMERAL_BYTES_MAX ? ZR_EPHEMERAL_BYTES_MAX - used : 0;
}

void zr_ephemerals_give(struct zr_session *session, size_t bytes)
{
    zr_budget_give(&session->ephemeral, bytes);
    if (session->audited > session->ephemeral.used)
        session->audited = session->ephemeral.used;
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
    call->counted = bytes > 0;
    return ZR_OK;
}

void zr_ephemerals_gone(struct zr_session *session, const char *path)
{
    struct zr_node *node = zr_table_find(&session->ephemerals, path);
    if (node == NULL)
        return;
    struct entry *entry = ZR_HOLDER(node, struct entry, node);
    zr_table_remove(&session->ephemerals, node);
    zr_unlink(&entry->in_session);
    zr_ephemerals_give(session, entry->bytes);
    zr_free(entry);
}

/* True if the bytes of this part are reserved. If they are not, the call was sent before, and they
   went to an entry, which may be gone by now. */
static bool has_bytes(struct zr_call *call, size_t bytes, const char *path)
{
    struct zr_session *session = call->session;
    if (call->reserved >= bytes)
        return true;
    if (path == NULL || zr_table_find(&session->ephemerals, path) != NULL ||
        !zr_ephemerals_take(session, bytes))
        return false;
    call->reserved += bytes;
    return true;
}

/* From now on the bytes that were reserved for this part belong to the node at `path`; null: the
   node's name is not known. */
static void remember(struct zr_call *call, const struct zr_request *part, const char *path)
{
    struct zr_session *session = call->session;
    size_t bytes = zr_ephemeral_bytes(strlen(part->path));
    size_t length = path != NULL ? strlen(path) : 0;
    if (!has_bytes(call, bytes, path))
        return;
    struct entry *entry = path != NULL ? zr_alloc(sizeof(*entry) + length + 1) : NULL;
    call->reserved -= bytes;
    if (entry != NULL) {
        zr_ephemerals_gone(session, path);
        memcpy(entry->path, path, length + 1);
        entry->bytes = bytes;
        if (zr_table_add(&session->ephemerals, &entry->node, entry->path) == ZR_OK) {
            zr_list_append(&session->to_audit, &entry->in_session);
            return;
        }
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
    bool unknown = whole->status == ZR_CONNECTION_LOSS || whole->status == ZR_NO_MEMORY;
    if (part->op == ZR_OP_CREATE) {
        if (call->counted && makes_ephemeral(part) && unknown && whole->sent)
            remember_unsure(call, part);
        else if (call->counted && makes_ephemeral(part) && whole->status == ZR_OK)
            remember(call, part, part->created);
    } else if (part->status == ZR_NO_NODE || (part->op == ZR_OP_DELETE && whole->status == ZR_OK)) {
        zr_ephemerals_gone(call->session, part->path);
    }
}

void zr_ephemerals_answered(struct zr_call *call)
{
    if (call->sent_in != call->session->generation)
        return; /* everything that it made is gone */
    if (call->session->ephemerals.count == 0 && !call->counted)
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
