/*
 * The records that a completion gets are freed when it returns, so they are copied into the
 * request, and, if their size is not known beforehand, into one block. If there is no memory for
 * that, the request fails with ZR_NO_MEMORY, although it was done. The records are well-formed
 * (decode.h), but what they say may still be nonsense.
 */
#include "zk/reply.h"

#include <string.h>
#include <zookeeper/zookeeper.jute.h>

#include "core/alloc.h"
#include "core/names.h"

/* Error codes of the protocol; not in the list: an error of the server's own. */
static const struct {
    int code;
    enum zr_status status;
} meanings[] = {
    {0, ZR_OK},
    {-1, ZR_CONNECTION_LOSS},   /* system error of the client */
    {-2, ZR_CONNECTION_LOSS},   /* runtime inconsistency: answers out of order */
    {-4, ZR_CONNECTION_LOSS},   /* connection loss */
    {-7, ZR_CONNECTION_LOSS},   /* operation timeout */
    {-112, ZR_CONNECTION_LOSS}, /* session expired: told by its own message */
    {-115, ZR_CONNECTION_LOSS}, /* auth failed: likewise */
    {-116, ZR_CONNECTION_LOSS}, /* closing */
    {-118, ZR_CONNECTION_LOSS}, /* session moved to another connection */
    {-6, ZR_UNSUPPORTED},
    {-8, ZR_BAD_ARGUMENTS},
    {-13, ZR_RECONFIG}, /* the new configuration has no quorum */
    {-14, ZR_RECONFIG}, /* another reconfiguration is under way */
    {-101, ZR_NO_NODE},
    {-102, ZR_NO_AUTH},
    {-103, ZR_BAD_VERSION},
    {-108, ZR_NO_CHILDREN_FOR_EPHEMERALS},
    {-110, ZR_NODE_EXISTS},
    {-111, ZR_NOT_EMPTY},
    {-114, ZR_INVALID_ACL},
    {-120, ZR_UNSUPPORTED}, /* an ephemeral in a local session */
    {-123, ZR_UNSUPPORTED}, /* reconfiguration is disabled */
    {-124, ZR_AUTH_FAILED}, /* the server demands SASL */
    {-125, ZR_QUOTA_EXCEEDED},
};

enum zr_status zr_reply_status(int code)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (meanings[i].code == code)
            return meanings[i].status;
    return ZR_SERVER_ERROR;
}

enum zr_status zr_reply_refusal(int code)
{
    switch (code) {
    case -6: /* not implemented */
        return ZR_UNSUPPORTED;
    case -8: /* bad arguments */
        return ZR_BAD_ARGUMENTS;
    case -9: /* invalid state */
        return ZR_CONNECTION_LOSS;
    case -121: /* nothing is watched there */
        return ZR_SERVER_ERROR;
    default: /* system or marshalling error */
        return ZR_NO_MEMORY;
    }
}

bool zr_reply_is_proof(int code)
{
    switch (code) {
    case 0:
    case -101: /* no node: the usual answer to a heartbeat that is a write */
    case -103: /* another version */
    case -111: /* not empty: another client has made that node, and a child */
        return true;
    default:
        return false;
    }
}

void zr_reply_stat(struct zr_request *request, const struct Stat *stat)
{
    if (stat == NULL)
        return;
    request->stat = (struct zr_stat){
        .czxid = stat->czxid,
        .mzxid = stat->mzxid,
        .pzxid = stat->pzxid,
        .ctime_ms = stat->ctime,
        .mtime_ms = stat->mtime,
        .ephemeral_owner = stat->ephemeralOwner,
        .version = stat->version,
        .cversion = stat->cversion,
        .aversion = stat->aversion,
        .data_length = stat->dataLength,
        .child_count = stat->numChildren,
    };
}

static bool is_sequential(enum zr_mode mode)
{
    return mode == ZR_PERSISTENT_SEQUENTIAL || mode == ZR_EPHEMERAL_SEQUENTIAL ||
           mode == ZR_PERSISTENT_SEQUENTIAL_TTL;
}

bool zr_reply_is_created(const struct zr_request *request)
{
    size_t length = strlen(request->path);
    const char *number = request->created + length;
    return strncmp(request->created, request->path, length) == 0 &&
           (is_sequential(request->mode) ? zr_is_sequence(number) : *number == '\0');
}

enum zr_status zr_reply_created(struct zr_request *request, const char *path)
{
    size_t length = strlen(path);
    if (length >= strlen(request->path) + 12)
        return ZR_CONNECTION_LOSS;
    memcpy(request->created, path, length + 1);
    return zr_reply_is_created(request) ? ZR_OK : ZR_CONNECTION_LOSS;
}

enum zr_status zr_reply_data(struct zr_request *request, const char *at, int length)
{
    if (at == NULL)
        return ZR_OK;
    request->data_reply.at = zr_copy(at, (size_t)length);
    if (request->data_reply.at == NULL)
        return ZR_NO_MEMORY;
    request->data_reply.length = (size_t)length;
    return ZR_OK;
}

/* Copies a string to *room and moves that behind it. */
static char *pack(char **room, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*room, text, size);
    *room += size;
    return copy;
}

/* A name with a slash in it would make a path to somewhere else. */
static bool is_name(const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL;
}

enum zr_status zr_reply_names(struct zr_request *request, const struct String_vector *names)
{
    size_t count = (size_t)names->count;
    size_t size = sizeof(struct zr_names) + count * sizeof(char *);
    for (size_t i = 0; i < count; i++) {
        if (!is_name(names->data[i]))
            return ZR_CONNECTION_LOSS;
        size += strlen(names->data[i]) + 1;
    }
    struct zr_names *copy = zr_alloc(size);
    if (copy == NULL)
        return ZR_NO_MEMORY;
    char *room = (char *)&copy->at[count];
    for (; copy->count < count; copy->count++)
        copy->at[copy->count] = pack(&room, names->data[copy->count]);
    request->names = copy;
    return ZR_OK;
}

enum zr_status zr_reply_acl(struct zr_request *request, const struct ACL_vector *acl)
{
    size_t count = (size_t)acl->count;
    size_t size = sizeof(struct zr_acl_reply) + count * sizeof(struct zr_acl);
    for (size_t i = 0; i < count; i++)
        size += strlen(acl->data[i].id.scheme) + strlen(acl->data[i].id.id) + 2;
    struct zr_acl_reply *copy = zr_alloc(size);
    if (copy == NULL)
        return ZR_NO_MEMORY;
    char *room = (char *)&copy->at[count];
    for (; copy->count < count; copy->count++) {
        const struct ACL *from = &acl->data[copy->count];
        struct zr_acl *to = &copy->at[copy->count];
        to->perms = from->perms;
        to->scheme = pack(&room, from->id.scheme);
        to->id = pack(&room, from->id.id);
    }
    request->acl_reply = copy;
    return ZR_OK;
}

int zr_reply_length(struct zr_bytes bytes)
{
    return bytes.at == NULL ? -1 : (int)bytes.length;
}

struct ACL_vector zr_reply_vector(struct ACL *entries, struct zr_acls acls)
{
    for (size_t i = 0; i < acls.count; i++) {
        entries[i].perms = acls.list[i].perms;
        entries[i].id.scheme = (char *)acls.list[i].scheme;
        entries[i].id.id = (char *)acls.list[i].id;
    }
    return (struct ACL_vector){.count = (int32_t)acls.count, .data = entries};
}
