/* Which function of the library sends each request, and which arguments it needs. */
#include "zk/client_parts.h"

#include "core/alloc.h"
#include "zk/completion.h"
#include "zk/reply.h"

/* Not in every release of the library that we run with: absent ones are null. */
#pragma weak zoo_acreate2
#pragma weak zoo_acreate2_ttl
#pragma weak zoo_areconfig

static int create(zhandle_t *zh, struct zr_request *request)
{
    struct zr_bytes data = request->data;
    struct ACL *entries = zr_alloc(request->acl.count * sizeof *entries + 1);
    if (entries == NULL)
        return ZSYSTEMERROR;
    struct ACL_vector acl = zr_reply_vector(entries, request->acl);
    int rc = ZUNIMPLEMENTED;
    if (request->mode < ZR_PERSISTENT_TTL && zoo_acreate2 != NULL)
        rc = zoo_acreate2(zh, request->path, data.at, zr_reply_length(data), &acl,
                          (int)request->mode, zr_on_created, request);
    else if (request->mode >= ZR_PERSISTENT_TTL && zoo_acreate2_ttl != NULL)
        rc = zoo_acreate2_ttl(zh, request->path, data.at, zr_reply_length(data), &acl,
                              (int)request->mode, request->ttl_ms, zr_on_created, request);
    zr_free(entries);
    return rc;
}

static int set_acl(zhandle_t *zh, struct zr_request *request)
{
    struct ACL *entries = zr_alloc(request->acl.count * sizeof *entries + 1);
    if (entries == NULL)
        return ZSYSTEMERROR;
    struct ACL_vector acl = zr_reply_vector(entries, request->acl);
    int rc = zoo_aset_acl(zh, request->path, request->version, &acl, zr_on_void, request);
    zr_free(entries);
    return rc;
}

/* The credentials are also kept, in case the library's handle must be replaced. If the library
   cannot send them, it says that it failed, and yet it will answer the request, at the latest when
   the connection ends. If it is not lost, memory is exhausted. */
static int add_auth(struct zr_handle *handle, struct zr_request *request)
{
    struct zr_credential *credential = zr_credential_new(request->path, request->data);
    if (credential == NULL)
        return ZSYSTEMERROR;
    zr_credential_add(handle, credential);
    int rc = zoo_add_auth(handle->client.zh, request->path, request->data.at,
                          (int)request->data.length, zr_on_auth, request);
    if (rc == ZMARSHALLINGERROR) {
        handle->client.unfit |= zoo_state(handle->client.zh) != ZOO_NOTCONNECTED_STATE;
        rc = ZOK;
    }
    handle->client.authenticating = rc == ZOK;
    return rc;
}

static int reconfig(zhandle_t *zh, struct zr_request *request)
{
    if (zoo_areconfig == NULL)
        return ZUNIMPLEMENTED;
    return zoo_areconfig(zh, request->joining, request->leaving, request->members, request->version,
                         zr_on_data, request);
}

/*
 * Removes all watches of a path at once. The library's call for one pair of function and context
 * leaves the watch on the server; its variant without the server writes to memory that it must not
 * touch. The cast is needed because of a mistake in the header: it declares a pointer to a function
 * pointer, and calls what it is given.
 */
static int unwatch(zhandle_t *zh, struct zr_request *request)
{
    return zoo_aremove_all_watches(zh, request->path, ZWATCHTYPE_ANY, 0,
                                   (void_completion_t *)zr_on_void, request);
}

int zr_client_call(struct zr_handle *handle, struct zr_request *request)
{
    zhandle_t *zh = handle->client.zh;
    watcher_fn watcher = request->watch ? zr_client_on_event : NULL;
    const char *path = request->path;
    switch (request->op) {
    case ZR_OP_CREATE:
        return create(zh, request);
    case ZR_OP_DELETE:
        return zoo_adelete(zh, path, request->version, zr_on_void, request);
    case ZR_OP_EXISTS:
        return zoo_awexists(zh, path, watcher, handle, zr_on_stat, request);
    case ZR_OP_GET:
        return zoo_awget(zh, path, watcher, handle, zr_on_data, request);
    case ZR_OP_SET:
        return zoo_aset(zh, path, request->data.at, zr_reply_length(request->data),
                        request->version, zr_on_stat, request);
    case ZR_OP_CHILDREN:
        return zoo_awget_children2(zh, path, watcher, handle, zr_on_names, request);
    case ZR_OP_SYNC:
        return zoo_async(zh, path, zr_on_sync, request);
    case ZR_OP_GET_ACL:
        return zoo_aget_acl(zh, path, zr_on_acl, request);
    case ZR_OP_SET_ACL:
        return set_acl(zh, request);
    case ZR_OP_ADD_AUTH:
        return add_auth(handle, request);
    case ZR_OP_RECONFIG:
        return reconfig(zh, request);
    case ZR_OP_UNWATCH:
        return unwatch(zh, request);
    case ZR_OP_MULTI:
        return zr_client_call_multi(handle, request);
    case ZR_OP_CHECK:
        break;
    }
    return ZBADARGUMENTS;
}
