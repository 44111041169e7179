#ifndef ZR_REPORT_H
#define ZR_REPORT_H

/*
 * report.h: what the host is told about a handle, apart from replies. Every function but init and
 * fini: the I/O thread. They append to the handle's `out`, in the order in which things happened.
 *
 * No state stays unreported because memory is exhausted: SUSPENDED is allocated together with
 * CONNECTED, the final state and ENDED at open. If there is no memory for CONNECTED, it is reported
 * later, and until then no request is sent. The notice that stands for an event without memory is
 * allocated in advance, too: it must come before the events and answers behind that event.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/zk.h"

struct zr_handle;

#define ZR_REPORT_LINES 16 /* more than there are servers in a usual ensemble */

struct zr_report {
    bool connected; /* CONNECTED was told, and no SUSPENDED since */
    bool owed;      /* CONNECTED is still to be reported: there was no memory */
    bool missed;    /* an event could not be reported */
    struct zr_notice *suspended, *final, *ended; /* reserved */
    struct zr_notice *any_event;                 /* ... or null: there was no memory */
    struct {
        uint64_t hash;
        int64_t told_us;
        unsigned outage;      /* the outage in which it was reported last */
    } lines[ZR_REPORT_LINES]; /* of the log, so that they are not repeated all the time */
    unsigned oldest;
    unsigned outage; /* the number of the present one, or the next */
};

/* Reserves the notices. False: no memory. */
bool zr_report_init(struct zr_handle *handle);
void zr_report_fini(struct zr_handle *handle);

/* The connection is proved. Repeated calls report it once. Session, timeout and peer are those
   of the client. */
void zr_report_connected(struct zr_handle *handle);

/* The connection is gone: reported if CONNECTED was. */
void zr_report_suspended(struct zr_handle *handle);

/* ZR_MSG_EXPIRED or ZR_MSG_AUTH_FAILED, whichever is first. */
void zr_report_final(struct zr_handle *handle, enum zr_message_kind kind);

/* A watch fired. borrows: path; null: any watch may have fired. */
void zr_report_event(struct zr_handle *handle, enum zr_event_kind kind, const char *path);

/* A line for the log. The same line is written at most every ten seconds. It is also a reason
   for having no connection, which is reported again in each outage. borrows: line. */
void zr_report_note(struct zr_handle *handle, char level, const char *line);

/* A line of the client library, with its prefix. borrows: line. */
void zr_report_log(struct zr_handle *handle, const char *line);

/* See zr_zk.proof_us; the host may be told once it has all that was reported. */
int64_t zr_report_proof_us(const struct zr_handle *handle);

/* The last message. */
void zr_report_ended(struct zr_handle *handle);

/* Reports what could not be reported for want of memory. False: there is still not enough. */
bool zr_report_retry(struct zr_handle *handle);

#endif
