/*
 * 1. The connection is proved: CONNECTED is reported, and a SUSPENDED is allocated for its end.
 * 2. Events and lines follow as they come.
 * 3. The connection is lost: that SUSPENDED is reported.
 * 4. The session is over, or the handle is: the notices that open has allocated are reported.
 *
 * What can go wrong: memory is exhausted. CONNECTED waits for it, an event becomes "any watch may
 * have fired" (in its place; a second one soon after it comes later), a line is dropped, and the
 * rest cannot fail.
 */
#include "zk/report.h"

#include <string.h>

#include "core/alloc.h"
#include "core/hash.h"
#include "zk/clock.h"
#include "zk/handle.h"
#include "zk/library_log.h"

#define REPEAT_US (10 * INT64_C(1000000))

/* gives: a notice with a copy of the text (or null) behind it, or null. */
static struct zr_notice *notice_new(struct zr_handle *handle, enum zr_message_kind kind,
                                    const char *text)
{
    size_t room = text != NULL ? strlen(text) + 1 : 0;
    struct zr_notice *notice = zr_alloc(sizeof *notice + room);
    if (notice == NULL)
        return NULL;
    notice->message.kind = kind;
    notice->owner = handle->owner;
    if (text != NULL)
        notice->text = memcpy(notice + 1, text, room);
    return notice;
}

int64_t zr_report_proof_us(const struct zr_handle *handle)
{
    return handle->report.missed ? 0 : handle->lease.proof_us;
}

static void tell(struct zr_handle *handle, struct zr_notice *notice)
{
    bool late = notice->message.kind == ZR_MSG_EVENT && notice->text == NULL;
    notice->proof_us = late ? 0 : zr_report_proof_us(handle);
    zr_list_append(&handle->out, &notice->message.link);
}

bool zr_report_init(struct zr_handle *handle)
{
    struct zr_report *report = &handle->report;
    report->final = notice_new(handle, ZR_MSG_EXPIRED, NULL);
    report->ended = notice_new(handle, ZR_MSG_ENDED, NULL);
    report->any_event = notice_new(handle, ZR_MSG_EVENT, NULL);
    return report->final != NULL && report->ended != NULL && report->any_event != NULL;
}

void zr_report_fini(struct zr_handle *handle)
{
    zr_free(handle->report.suspended);
    zr_free(handle->report.final);
    zr_free(handle->report.ended);
    zr_free(handle->report.any_event);
}

void zr_report_connected(struct zr_handle *handle)
{
    struct zr_report *report = &handle->report;
    if (report->connected)
        return;
    if (report->suspended == NULL)
        report->suspended = notice_new(handle, ZR_MSG_SUSPENDED, NULL);
    struct zr_notice *notice = notice_new(handle, ZR_MSG_CONNECTED, handle->client.peer);
    report->owed = report->suspended == NULL || notice == NULL;
    if (report->owed) {
        zr_free(notice);
        return;
    }
    notice->session_id = handle->client.session_id;
    notice->timeout_ms = handle->client.timeout_ms;
    report->connected = true;
    report->outage++;
    tell(handle, notice);
}

void zr_report_suspended(struct zr_handle *handle)
{
    struct zr_report *report = &handle->report;
    report->owed = false;
    if (!report->connected)
        return;
    report->connected = false;
    tell(handle, report->suspended);
    report->suspended = NULL;
}

void zr_report_final(struct zr_handle *handle, enum zr_message_kind kind)
{
    struct zr_report *report = &handle->report;
    if (report->final == NULL)
        return;
    report->owed = report->connected = false;
    report->final->message.kind = kind;
    tell(handle, report->final);
    report->final = NULL;
}

void zr_report_event(struct zr_handle *handle, enum zr_event_kind kind, const char *path)
{
    struct zr_report *report = &handle->report;
    struct zr_notice *notice = notice_new(handle, ZR_MSG_EVENT, path);
    if (notice == NULL) {
        notice = report->any_event;
        report->any_event = NULL;
        kind = ZR_CHANGED;
    }
    if (notice == NULL) {
        report->missed = true;
        return;
    }
    notice->event = kind;
    tell(handle, notice);
}

enum news { NEW, NEW_IN_THIS_OUTAGE, KNOWN };

/* Whether this line is new; records it as written now. */
static enum news news_of(struct zr_report *report, const char *line)
{
    uint64_t hash = zr_hash64(line, strlen(line));
    int64_t now = zr_now_us();
    for (int i = 0; i < ZR_REPORT_LINES; i++) {
        if (report->lines[i].hash != hash || now - report->lines[i].told_us >= REPEAT_US)
            continue;
        bool known = report->connected || report->lines[i].outage == report->outage;
        report->lines[i].outage = report->outage;
        return known ? KNOWN : NEW_IN_THIS_OUTAGE;
    }
    report->lines[report->oldest].hash = hash;
    report->lines[report->oldest].told_us = now;
    report->lines[report->oldest].outage = report->outage;
    report->oldest = (report->oldest + 1) % ZR_REPORT_LINES;
    return NEW;
}

void zr_report_note(struct zr_handle *handle, char level, const char *line)
{
    enum news news = news_of(&handle->report, line);
    struct zr_notice *notice = news != KNOWN ? notice_new(handle, ZR_MSG_NOTE, line) : NULL;
    if (notice == NULL)
        return;
    notice->level = level;
    notice->repeated = news != NEW;
    tell(handle, notice);
}

/* "time:pid:ZOO_LEVEL@function@line: text". A fault of one connection is a warning, not an
   error: there are other servers, and other attempts. */
void zr_report_log(struct zr_handle *handle, const char *line)
{
    char room[384];
    const char *level = strstr(line, "ZOO_");
    const char *text = level != NULL ? strstr(level, ": ") : NULL;
    const char *told = zr_library_log_plain(text != NULL ? text + 2 : line, room, sizeof(room));
    zr_report_note(handle, text == NULL || told == room ? 'W' : level[4], told);
}

void zr_report_ended(struct zr_handle *handle)
{
    tell(handle, handle->report.ended);
    handle->report.ended = NULL;
}

bool zr_report_retry(struct zr_handle *handle)
{
    struct zr_report *report = &handle->report;
    if (report->owed)
        zr_report_connected(handle);
    if (report->missed && report->connected) {
        report->missed = false;
        zr_report_event(handle, ZR_CHANGED, NULL);
    }
    if (report->any_event == NULL)
        report->any_event = notice_new(handle, ZR_MSG_EVENT, NULL);
    return report->any_event != NULL && !report->owed && !(report->missed && report->connected);
}
