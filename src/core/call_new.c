#include <stdint.h>
#include <string.h>

#include "core/alloc.h"
#include "core/call.h"

/*
 * Makes requests. One block of memory has the call, its path and data, and room for all that its
 * answer certainly needs. Only an ACL of its own is a second block (call_acl.c).
 */

/* ---- One request --------------------------------------------------------------------------- */

/* What a request needs beside its struct: path, data, and room for the name of a created node. */
static size_t room_for(const char *prefix, const char *path, struct zr_bytes data)
{
    size_t full = strlen(prefix) + strlen(path);
    return full + 1 + data.length + 1 + full + 12;
}

/* Fills in copies that live in `room`, and returns the end of them. */
static char *fill(struct zr_request *request, char *room, const char *prefix, const char *path,
                  struct zr_bytes data)
{
    size_t head = strlen(prefix), tail = strlen(path);
    if (head > 0 && strcmp(path, "/") == 0)
        tail = 0;
    request->path = room;
    memcpy(room, prefix, head);
    memcpy(room + head, path, tail);
    room += head + tail + 1;
    request->data = (struct zr_bytes){data.at != NULL ? room : NULL, data.length};
    if (data.length > 0)
        memcpy(room, data.at, data.length);
    room += data.length + 1;
    request->created = room;
    return room + head + tail + 12;
}

static struct zr_call *new_call(struct zr_session *session, enum zr_op op, size_t room)
{
    struct zr_call *call = zr_alloc(sizeof(*call) + room);
    if (call == NULL)
        return NULL;
    call->session = session;
    zr_object_ref(&session->object);
    call->request.message.kind = ZR_MSG_REPLY;
    call->request.op = op;
    call->request.version = ZR_ANY_VERSION;
    call->request.acl = zr_acls_of(session);
    return call;
}

enum zr_status zr_call_fits(const struct zr_call *call)
{
    return zr_request_size(&call->request) <= ZR_REQUEST_MAX ? ZR_OK : ZR_TOO_LARGE;
}

enum zr_status zr_call_set_acl(struct zr_call *call, const struct zr_acls *acls)
{
    struct zr_acl *copy = zr_acls_copy(acls);
    if (copy == NULL)
        return ZR_NO_MEMORY;
    zr_free(call->acl);
    call->acl = copy;
    call->request.acl = (struct zr_acls){copy, acls->count};
    return zr_call_fits(call);
}

/* Frees a call that is too large and sets it to null. */
static enum zr_status checked(struct zr_call **call)
{
    enum zr_status status = zr_call_fits(*call);
    if (status != ZR_OK) {
        zr_call_free(*call);
        *call = NULL;
    }
    return status;
}

static enum zr_status make(struct zr_session *session, enum zr_op op, const char *prefix,
                           const char *path, struct zr_bytes data, struct zr_call **call)
{
    size_t room = room_for(prefix, path, data);
    *call = NULL;
    if (data.length > ZR_REQUEST_MAX) /* before it is copied */
        return ZR_TOO_LARGE;
    *call = new_call(session, op, room);
    if (*call == NULL)
        return ZR_NO_MEMORY;
    fill(&(*call)->request, (*call)->room, prefix, path, data);
    return checked(call);
}

enum zr_status zr_call_new(struct zr_session *session, enum zr_op op, const char *path,
                           struct zr_bytes data, struct zr_call **call)
{
    /* The scheme of add_auth travels as the path; it has no namespace. */
    const char *prefix = op == ZR_OP_ADD_AUTH ? "" : session->namespace;
    return make(session, op, prefix, path, data, call);
}

enum zr_status zr_call_new_full(struct zr_session *session, enum zr_op op, const char *path,
                                struct zr_bytes data, struct zr_call **call)
{
    return make(session, op, "", path, data, call);
}

/* ---- Transactions -------------------------------------------------------------------------- */

static enum zr_status copy_part(struct zr_session *session, struct zr_request *part,
                                const struct zr_request *from)
{
    part->op = from->op;
    part->version = from->version;
    part->mode = from->mode;
    if (from->acl.count == 0) {
        part->acl = zr_acls_of(session);
        return ZR_OK;
    }
    part->acl = (struct zr_acls){zr_acls_copy(&from->acl), from->acl.count};
    return part->acl.list != NULL ? ZR_OK : ZR_NO_MEMORY;
}

/* How much text the parts need; more than ZR_REQUEST_MAX if they are too large. */
static size_t room_for_parts(const struct zr_session *session, const struct zr_request *parts,
                             size_t count)
{
    size_t room = 0, bytes = 0;
    for (size_t i = 0; i < count && bytes <= ZR_REQUEST_MAX; i++) {
        bytes += strlen(parts[i].path) + parts[i].data.length;
        room += room_for(session->namespace, parts[i].path, parts[i].data);
    }
    return bytes <= ZR_REQUEST_MAX ? room : SIZE_MAX;
}

static char *fill_guard(struct zr_request *part, char *room, const char *guard)
{
    part->op = ZR_OP_CHECK;
    part->version = ZR_ANY_VERSION;
    return fill(part, room, "", guard, ZR_NO_DATA);
}

enum zr_status zr_call_new_multi(struct zr_session *session, const char *guard,
                                 const struct zr_request *parts, size_t count,
                                 struct zr_call **call)
{
    size_t total = count + (guard != NULL), arrays = total * sizeof(struct zr_request);
    size_t room = room_for_parts(session, parts, count);
    *call = NULL;
    if (room == SIZE_MAX)
        return ZR_TOO_LARGE;
    room += arrays + (guard != NULL ? room_for("", guard, ZR_NO_DATA) : 0);
    struct zr_call *made = new_call(session, ZR_OP_MULTI, room);
    if (made == NULL)
        return ZR_NO_MEMORY;
    struct zr_request *part = made->request.parts = (struct zr_request *)made->room;
    char *text = made->room + arrays;
    enum zr_status status = ZR_OK;
    if (guard != NULL)
        text = fill_guard(part++, text, guard);
    made->request.part_count = total;
    for (size_t i = 0; i < count && status == ZR_OK; i++, part++) {
        text = fill(part, text, session->namespace, parts[i].path, parts[i].data);
        status = copy_part(session, part, &parts[i]);
    }
    *call = made;
    if (status == ZR_OK)
        return checked(call);
    zr_call_free(made);
    *call = NULL;
    return status;
}
