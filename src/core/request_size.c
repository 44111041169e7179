/*
 * Each request as ZooKeeper's zookeeper.jute describes it: a header, then the fields of its record.
 * Integers have 4 bytes and longs 8, a boolean has 1, and strings and buffers follow 4 bytes with
 * their length. A multi is a list of records, each with a header of its own in front, and a last
 * header that ends the list.
 */
#include "core/request_size.h"

#include <string.h>

enum { INT = 4, LONG = 8, BOOL = 1, HEADER = INT + INT, PART_HEADER = INT + BOOL + INT };

static size_t string(const char *text)
{
    return INT + (text != NULL ? strlen(text) : 0);
}

static size_t buffer(struct zr_bytes bytes)
{
    return INT + bytes.length;
}

static size_t acl(struct zr_acls acls)
{
    size_t size = INT;
    for (size_t i = 0; i < acls.count; i++)
        size += INT + string(acls.list[i].scheme) + string(acls.list[i].id);
    return size;
}

static size_t create(const struct zr_request *request)
{
    size_t ttl = request->mode >= ZR_PERSISTENT_TTL ? LONG : 0;
    return string(request->path) + buffer(request->data) + acl(request->acl) + INT + ttl;
}

static size_t reconfig(const struct zr_request *request)
{
    return string(request->joining) + string(request->leaving) + string(request->members) + LONG;
}

static size_t multi(const struct zr_request *request);

static size_t record(const struct zr_request *request)
{
    switch (request->op) {
    case ZR_OP_CREATE:
        return create(request);
    case ZR_OP_DELETE:
    case ZR_OP_CHECK:
    case ZR_OP_UNWATCH:
        return string(request->path) + INT;
    case ZR_OP_SET:
        return string(request->path) + buffer(request->data) + INT;
    case ZR_OP_EXISTS:
    case ZR_OP_GET:
    case ZR_OP_CHILDREN:
        return string(request->path) + BOOL;
    case ZR_OP_SYNC:
    case ZR_OP_GET_ACL:
        return string(request->path);
    case ZR_OP_SET_ACL:
        return string(request->path) + acl(request->acl) + INT;
    case ZR_OP_ADD_AUTH:
        return INT + string(request->path) + buffer(request->data);
    case ZR_OP_RECONFIG:
        return reconfig(request);
    case ZR_OP_MULTI:
        return multi(request);
    }
    return 0;
}

static size_t multi(const struct zr_request *request)
{
    size_t size = PART_HEADER;
    for (size_t i = 0; i < request->part_count; i++)
        size += PART_HEADER + record(&request->parts[i]);
    return size;
}

size_t zr_request_size(const struct zr_request *request)
{
    return HEADER + record(request);
}

/* ---- Lost answers -------------------------------------------------------------------------- */

#define LOSSES_MAX 3
#define LARGE (64 * 1024)

bool zr_lost_too_large(int losses, size_t bytes)
{
    return losses >= LOSSES_MAX && bytes > LARGE;
}
