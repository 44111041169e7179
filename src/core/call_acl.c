#include <string.h>

#include "core/alloc.h"
#include "core/call.h"

/*
 * The ACLs of requests: the session's, which is shared, or one of the request's own. A session
 * without an ACL opens its znodes to every client.
 */

static const struct zr_acl open_acl[] = {{31, "world", "anyone"}};

struct zr_acls zr_acls_of(const struct zr_session *session)
{
    return session->acl.count > 0 ? session->acl : (struct zr_acls){open_acl, 1};
}

struct zr_acl *zr_acls_copy(const struct zr_acls *acls)
{
    size_t size = acls->count * sizeof(struct zr_acl);
    for (size_t i = 0; i < acls->count; i++)
        size += strlen(acls->list[i].scheme) + strlen(acls->list[i].id) + 2;
    struct zr_acl *copy = zr_alloc(size);
    if (copy == NULL)
        return NULL;
    char *text = (char *)(copy + acls->count);
    for (size_t i = 0; i < acls->count; i++) {
        copy[i].perms = acls->list[i].perms;
        copy[i].scheme = strcpy(text, acls->list[i].scheme);
        text += strlen(text) + 1;
        copy[i].id = strcpy(text, acls->list[i].id);
        text += strlen(text) + 1;
    }
    return copy;
}

static bool own_acl(const struct zr_session *session, const struct zr_request *part)
{
    return part->acl.list != session->acl.list && part->acl.list != open_acl;
}

void zr_call_free_acls(struct zr_call *call)
{
    for (size_t i = 0; i < call->request.part_count; i++)
        if (own_acl(call->session, &call->request.parts[i]))
            zr_free((struct zr_acl *)call->request.parts[i].acl.list);
    zr_free(call->acl);
}
