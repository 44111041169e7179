/*
 * Reports to the host, in the order in which things happened. If memory is exhausted, CONNECTED and
 * all requests wait for memory, and an event becomes "any watch may have fired". SUSPENDED is
 * allocated together with CONNECTED, the final notices together with the handle.
 */
#include <string.h>

#include "core/alloc.h"
#include "sim/process.h"
#include "sim/world.h"

#define RETRY_US 1000

/* gives: a notice with a copy of the text (or null) behind it, or null. */
static struct zr_notice *notice_new(const struct zr_handle *handle, enum zr_message_kind kind,
                                    const char *text)
{
    size_t room = text != NULL ? strlen(text) + 1 : 0;
    struct zr_notice *notice = zr_alloc(sizeof(*notice) + room);
    if (notice == NULL)
        return NULL;
    notice->message.kind = kind;
    notice->owner = handle->owner;
    if (text != NULL)
        notice->text = memcpy(notice + 1, text, room);
    return notice;
}

int64_t zr_sim_report_proof_us(const struct zr_handle *handle)
{
    return handle->missed ? 0 : handle->lease.proof_us;
}

static void report(struct zr_handle *handle, struct zr_notice *notice)
{
    static const char *const kinds[] = {"reply",       "connected", "suspended", "expired",
                                        "auth failed", "event",     "note",      "ended"};
    zr_sim_trace(handle->process->world, "client %016llx: %s %s",
                 (unsigned long long)handle->session_id, kinds[notice->message.kind],
                 notice->text != NULL ? notice->text : "");
    bool late = notice->message.kind == ZR_MSG_EVENT && notice->text == NULL;
    notice->proof_us = late ? 0 : zr_sim_report_proof_us(handle);
    zr_list_append(&handle->process->inbox, &notice->message.link);
}

bool zr_sim_report_init(struct zr_handle *handle)
{
    handle->final = notice_new(handle, ZR_MSG_EXPIRED, NULL);
    handle->ended = notice_new(handle, ZR_MSG_ENDED, NULL);
    handle->any_event = notice_new(handle, ZR_MSG_EVENT, NULL);
    return handle->final != NULL && handle->ended != NULL && handle->any_event != NULL;
}

void zr_sim_report_fini(struct zr_handle *handle)
{
    zr_free(handle->suspended);
    zr_free(handle->final);
    zr_free(handle->ended);
    zr_free(handle->any_event);
}

static void try_later(struct zr_handle *handle);

static void retry(struct zr_sim_event *event)
{
    struct zr_handle *handle = ZR_HOLDER(event, struct zr_handle, retry);
    if (zr_sim_put_off(handle, event))
        return;
    if (handle->owed)
        zr_sim_report_connected(handle);
    if (handle->missed && handle->connected) {
        handle->missed = false;
        zr_sim_report_event(handle, ZR_CHANGED, NULL);
    }
    if (handle->any_event == NULL &&
        (handle->any_event = notice_new(handle, ZR_MSG_EVENT, NULL)) == NULL)
        try_later(handle);
}

static void try_later(struct zr_handle *handle)
{
    struct zr_sim_world *world = handle->process->world;
    zr_sim_schedule(&world->agenda, &handle->retry, world->now_us + RETRY_US, retry);
}

static void address_of(const struct zr_handle *handle, char *to, size_t room)
{
    snprintf(to, room, "127.0.0.1:%d", 2181 + handle->server);
}

void zr_sim_report_connected(struct zr_handle *handle)
{
    char address[24];
    if (handle->connected)
        return;
    address_of(handle, address, sizeof(address));
    if (handle->suspended == NULL)
        handle->suspended = notice_new(handle, ZR_MSG_SUSPENDED, NULL);
    struct zr_notice *notice = notice_new(handle, ZR_MSG_CONNECTED, address);
    handle->owed = handle->suspended == NULL || notice == NULL;
    if (handle->owed) {
        zr_free(notice);
        try_later(handle);
        return;
    }
    notice->session_id = handle->session_id;
    notice->timeout_ms = handle->timeout_ms;
    handle->connected = handle->known = true;
    report(handle, notice);
    if (handle->missed)
        try_later(handle);
}

void zr_sim_report_suspended(struct zr_handle *handle)
{
    handle->owed = false;
    if (!handle->connected)
        return;
    handle->connected = false;
    report(handle, handle->suspended);
    handle->suspended = NULL;
}

void zr_sim_report_final(struct zr_handle *handle, enum zr_message_kind kind)
{
    if (handle->final == NULL)
        return;
    handle->owed = handle->connected = false;
    handle->final->message.kind = kind;
    report(handle, handle->final);
    handle->final = NULL;
}

void zr_sim_report_event(struct zr_handle *handle, enum zr_event_kind event, const char *path)
{
    struct zr_notice *notice = notice_new(handle, ZR_MSG_EVENT, path);
    if (notice == NULL) {
        notice = handle->any_event;
        handle->any_event = NULL;
        event = ZR_CHANGED;
        try_later(handle);
    }
    if (notice == NULL) {
        handle->missed = true;
        return;
    }
    notice->event = event;
    report(handle, notice);
}

void zr_sim_report_ended(struct zr_handle *handle)
{
    report(handle, handle->ended);
    handle->ended = NULL;
}

void zr_sim_report_reply(struct zr_handle *handle, struct zr_request *request)
{
    zr_sim_trace(handle->process->world, "client %016llx: %s %s",
                 (unsigned long long)handle->session_id, zr_status_word(request->status),
                 request->path != NULL ? request->path : "");
    zr_list_append(&handle->process->inbox, &request->message.link);
}
