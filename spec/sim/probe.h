#ifndef ZR_SPEC_PROBE_H
#define ZR_SPEC_PROBE_H

/*
 * probe.h: a plain client over zk.h, to test implementations of zk.h. It sends one request at a
 * time and waits for the answer, or leaves the request in flight. It records the events that it is
 * told.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/zk.h"

#define PROBE_EVENTS 256

struct probe {
    struct zr_zk *zk;
    struct zr_handle *handle;
    int64_t session;
    int32_t timeout_ms;
    int connected, suspended, expired, refused, ended; /* how often each was told */
    int under_way;
    int events; /* recorded events: the text of each is "kind path" */
    char event[PROBE_EVENTS][80];
    char order[1024]; /* a letter for every message: C S X F e r E */
};

/* A request with memory of its own. `back`: it was answered. */
struct ask {
    struct zr_request request; /* first member */
    bool back;
    char path[128], data[64], created[160];
    struct zr_acl acl;
};

/* ---- Its session ----------------------------------------------------------------------------- */

/* takes: zk. Waits until it is connected. False: it is not connected after 10 s. */
bool probe_open(struct probe *probe, struct zr_zk *zk, const char *hosts, int32_t timeout_ms);

/* Ends the session and the handle, but not probe->zk. False: the end was not reported in time. */
bool probe_close(struct probe *probe);

/* Handles all messages that have come in. False: there were none. */
bool probe_take(struct probe *probe);

/* Waits until the counter (one of the probe's) has reached `value`. False: the time is over first.
 */
bool probe_wait(struct probe *probe, const int *counter, int value, int64_t us);

/* ---- Requests -------------------------------------------------------------------------------- */

/* gives: a request. borrows: both strings; data may be null. */
struct ask *ask_new(enum zr_op op, const char *path, const char *data);
void ask_free(struct ask *ask);

/* Sends the request. keeps: ask, until it is answered. */
void probe_submit(struct probe *probe, struct ask *ask);

/* Waits for the answer. */
enum zr_status probe_answer(struct probe *probe, struct ask *ask);

/* Sends the request, waits for the answer. takes: ask. */
enum zr_status probe_do(struct probe *probe, struct ask *ask);

/* probe_do for one kind of request each. */
enum zr_status probe_create(struct probe *probe, enum zr_mode mode, const char *path,
                            const char *data);
enum zr_status probe_delete(struct probe *probe, const char *path);
enum zr_status probe_set(struct probe *probe, const char *path, const char *data);
enum zr_status probe_watch(struct probe *probe, enum zr_op op, const char *path);
enum zr_status probe_sync(struct probe *probe);

#endif
