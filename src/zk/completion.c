/*
 * The library calls one of these for each request: from zookeeper_process, or from a call that made
 * it fail all requests in flight. They copy, and put the request into the handle's `out`; the loop
 * hands that over once per turn. They call nothing of the library, so they may also run while it is
 * being closed.
 */
#include "zk/completion.h"

#include <zookeeper/zookeeper.jute.h>

#include "zk/connection.h"
#include "zk/decode.h"
#include "zk/reply.h"

#define AUTH_FAILED (-115) /* as the protocol has it */

struct zr_handle *zr_completion_handle;

struct zr_request *zr_completion_take(const void *with)
{
    zr_completion_handle->client.pending--;
    return (struct zr_request *)with;
}

void zr_completion_finish(struct zr_request *request, enum zr_status status)
{
    request->status = status;
    request->sent = true;
    zr_list_append(&zr_completion_handle->out, &request->message.link);
}

enum zr_status zr_completion_nonsense(void)
{
    zr_decode_blame("an answer that cannot be decoded");
    return ZR_CONNECTION_LOSS;
}

static bool only_reads(const struct zr_request *request)
{
    return request->op == ZR_OP_EXISTS || request->op == ZR_OP_GET ||
           request->op == ZR_OP_CHILDREN || request->op == ZR_OP_GET_ACL;
}

/* The sender of a write would take ZR_NO_MEMORY for a refusal; and no answer to it is large. */
enum zr_status zr_completion_unread(const struct zr_request *request, enum zr_status why)
{
    if (why == ZR_CONNECTION_LOSS || (why == ZR_TOO_LARGE && !only_reads(request)))
        return zr_completion_nonsense();
    return only_reads(request) ? why : ZR_CONNECTION_LOSS;
}

/* What an answer means; ZR_OK: there is something to copy. */
static enum zr_status answer_of(int rc, const struct zr_request *request)
{
    enum zr_status decoded = zr_decode_result();
    return decoded != ZR_OK ? zr_completion_unread(request, decoded) : zr_reply_status(rc);
}

static void finish_copied(struct zr_request *request, enum zr_status copied)
{
    zr_completion_finish(request, copied != ZR_OK ? zr_completion_unread(request, copied) : copied);
}

void zr_on_void(int rc, const void *with)
{
    zr_completion_finish(zr_completion_take(with), zr_reply_status(rc));
}

void zr_on_sync(int rc, const char *path, const void *with)
{
    (void)path;
    struct zr_request *request = zr_completion_take(with);
    zr_completion_finish(request, answer_of(rc, request));
}

void zr_on_stat(int rc, const struct Stat *stat, const void *with)
{
    struct zr_request *request = zr_completion_take(with);
    enum zr_status status = answer_of(rc, request);
    zr_reply_stat(request, status == ZR_OK ? stat : NULL);
    zr_completion_finish(request, status);
}

void zr_on_created(int rc, const char *path, const struct Stat *stat, const void *with)
{
    struct zr_request *request = zr_completion_take(with);
    enum zr_status status = answer_of(rc, request);
    if (status != ZR_OK) {
        zr_completion_finish(request, status);
        return;
    }
    zr_reply_stat(request, stat);
    finish_copied(request, zr_reply_created(request, path));
}

void zr_on_data(int rc, const char *at, int length, const struct Stat *stat, const void *with)
{
    struct zr_request *request = zr_completion_take(with);
    enum zr_status status = answer_of(rc, request);
    if (status != ZR_OK) {
        zr_completion_finish(request, status);
        return;
    }
    zr_reply_stat(request, stat);
    finish_copied(request, zr_reply_data(request, at, length));
}

void zr_on_names(int rc, const struct String_vector *names, const struct Stat *stat,
                 const void *with)
{
    struct zr_request *request = zr_completion_take(with);
    enum zr_status status = answer_of(rc, request);
    if (status != ZR_OK) {
        zr_completion_finish(request, status);
        return;
    }
    zr_reply_stat(request, stat);
    finish_copied(request, zr_reply_names(request, names));
}

void zr_on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *with)
{
    struct zr_request *request = zr_completion_take(with);
    enum zr_status status = answer_of(rc, request);
    if (status != ZR_OK) {
        zr_completion_finish(request, status);
        return;
    }
    zr_reply_stat(request, stat);
    finish_copied(request, zr_reply_acl(request, acl));
}

/* A refusal is final for the handle, but the library reports that only after this call. */
void zr_on_auth(int rc, const void *with)
{
    zr_completion_handle->client.authenticating = false;
    bool refused = rc == AUTH_FAILED && !zr_completion_handle->client.dead;
    if (refused)
        zr_connection_over(zr_completion_handle, ZR_MSG_AUTH_FAILED);
    zr_completion_finish(zr_completion_take(with), refused ? ZR_AUTH_FAILED : zr_reply_status(rc));
}

void zr_on_deleted_beat(int rc, const void *with)
{
    (void)with;
    zr_completion_handle->client.pending--;
    bool proof = zr_reply_is_proof(rc) && zr_decode_result() == ZR_OK;
    zr_connection_beaten(zr_completion_handle, proof);
}

void zr_on_synced_beat(int rc, const char *path, const void *with)
{
    (void)path;
    if (zr_decode_result() != ZR_OK)
        zr_completion_nonsense();
    zr_on_deleted_beat(rc, with);
}
