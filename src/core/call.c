#include "core/call.h"

#include "core/alloc.h"

/*
 * 1. zr_call_new makes the request (call_new.c).
 * 2. zr_call_start submits it; or queues it, if there is no connection or too much is in flight.
 * 3. zr_call_reply, called by the dispatch, takes it back and calls `done`; the owner frees it.
 *
 * What can go wrong: the owner frees the call while it is in flight (zr_call_free): the request
 * belongs to ZooKeeper until it comes back, and is freed then. The connection is lost: the request
 * comes back with ZR_CONNECTION_LOSS, and the verbs decide what that means.
 */

static void clear_reply(struct zr_request *request)
{
    zr_free((char *)request->data_reply.at);
    zr_free(request->names);
    zr_free(request->acl_reply);
    request->data_reply = ZR_NO_DATA;
    request->names = NULL;
    request->acl_reply = NULL;
    request->status = ZR_OK;
    request->sent = false;
}

static void clear_replies(struct zr_call *call)
{
    clear_reply(&call->request);
    for (size_t i = 0; i < call->request.part_count; i++)
        clear_reply(&call->request.parts[i]);
}

static bool may_go(const struct zr_session *session)
{
    return session->state == ZR_CONNECTED && session->in_flight < ZR_IN_FLIGHT_MAX &&
           session->out_bytes < ZR_OUT_BYTES_MAX && !zr_engine_forked(session->engine);
}

static size_t data_bytes(const struct zr_request *request)
{
    size_t bytes = request->data.length;
    for (size_t i = 0; i < request->part_count; i++)
        bytes += request->parts[i].data.length;
    return bytes;
}

static void submit(struct zr_call *call)
{
    struct zr_session *session = call->session;
    call->state = ZR_CALL_OUT;
    call->tried = true;
    call->sent_in = session->generation;
    session->in_flight++;
    session->out_bytes += data_bytes(&call->request);
    call->watch = NULL;
    if (call->request.watch)
        session->above->sent(call);
    session->engine->zk->submit(session->now->handle, &call->request);
}

static void send_or_queue(struct zr_call *call)
{
    /* Calls in the queue go first: the verbs rely on the order of requests. */
    if (zr_list_empty(&call->session->queue) && may_go(call->session)) {
        submit(call);
        return;
    }
    call->state = ZR_CALL_QUEUED;
    zr_list_append(&call->session->queue, &call->in_queue);
}

void zr_call_start(struct zr_call *call, void (*done)(struct zr_call *call), void *owner)
{
    call->done = done;
    call->owner = owner;
    zr_call_again(call);
}

void zr_call_again(struct zr_call *call)
{
    clear_replies(call);
    send_or_queue(call);
}

static void destroy(struct zr_call *call)
{
    struct zr_session *session = call->session;
    clear_replies(call);
    if (call->request.op == ZR_OP_ADD_AUTH)
        zr_forget_secret(call->request.data);
    session->above->freed(call);
    zr_call_free_acls(call);
    zr_free(call);
    zr_object_unref(&session->object);
}

void zr_call_free(struct zr_call *call)
{
    if (call == NULL)
        return;
    call->done = NULL;
    if (call->state == ZR_CALL_OUT)
        return; /* zr_call_reply frees it */
    zr_unlink(&call->in_queue);
    destroy(call);
}

bool zr_call_stale(const struct zr_call *call)
{
    return call->bound && call->generation != call->session->generation;
}

void zr_call_give_back_stale(struct zr_session *session)
{
    struct zr_list waiting;
    struct zr_link *link;
    zr_list_init(&waiting);
    zr_list_move(&waiting, &session->queue);
    while ((link = zr_list_shift(&waiting)) != NULL) {
        struct zr_call *call = ZR_HOLDER(link, struct zr_call, in_queue);
        if (!zr_call_stale(call)) {
            zr_list_append(&session->queue, link);
            continue;
        }
        call->state = ZR_CALL_BACK;
        call->request.status = ZR_LOST;
        call->done(call);
    }
}

void zr_call_flush(struct zr_session *session)
{
    while (may_go(session) && !zr_list_empty(&session->queue))
        submit(ZR_HOLDER(zr_list_shift(&session->queue), struct zr_call, in_queue));
}

void zr_call_reply(struct zr_request *request)
{
    struct zr_call *call = (struct zr_call *)request;
    struct zr_session *session = call->session;
    zr_object_ref(&session->object);
    call->state = ZR_CALL_BACK;
    if (call->sent_in == session->generation) {
        session->in_flight--;
        session->out_bytes -= data_bytes(&call->request);
    }
    session->above->answered(call);
    if (call->done != NULL)
        call->done(call);
    else
        destroy(call);
    zr_call_flush(session);
    zr_object_unref(&session->object);
}
