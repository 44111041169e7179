#ifndef ZR_SPEC_PROBE_H
#define ZR_SPEC_PROBE_H

/*
 * probe.h: a plain client over zk.h, for the specs of what implements it: it asks one thing at a
 * time and waits for the answer, or leaves it under way, and writes down what it is told meanwhile.
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
    int connected, suspended, expired, refused, ended; /* how often */
    int under_way;
    int events; /* written down: the text of each is "kind path" */
    char event[PROBE_EVENTS][80];
    char order[1024]; /* a letter for every message: C S X F e r E */
};

/* A request of its own memory. `back` when it has come back. */
struct ask {
    struct zr_request request; /* first member */
    bool back;
    char path[128], data[64], created[160];
    struct zr_acl acl;
};

static const struct zr_acl probe_open_acl = {31, "world", "anyone"};

static inline void probe_event(struct probe *probe, const struct zr_notice *notice)
{
    static const char *const kinds[] = {"created", "deleted", "changed", "children"};
    if (probe->events < PROBE_EVENTS)
        snprintf(probe->event[probe->events++], sizeof(probe->event[0]), "%s %s",
                 kinds[notice->event], notice->text != NULL ? notice->text : "(any)");
}

static inline void probe_count(struct probe *probe, const struct zr_notice *notice)
{
    switch (notice->message.kind) {
    case ZR_MSG_CONNECTED:
        probe->session = notice->session_id;
        probe->timeout_ms = notice->timeout_ms;
        probe->connected++;
        break;
    case ZR_MSG_SUSPENDED:
        probe->suspended++;
        break;
    case ZR_MSG_EXPIRED:
        probe->expired++;
        break;
    case ZR_MSG_AUTH_FAILED:
        probe->refused++;
        break;
    case ZR_MSG_EVENT:
        probe_event(probe, notice);
        break;
    case ZR_MSG_ENDED:
        probe->ended++;
        break;
    case ZR_MSG_REPLY:
    case ZR_MSG_NOTE:
        break;
    }
}

static inline void probe_note(struct probe *probe, enum zr_message_kind kind)
{
    size_t length = strlen(probe->order);
    if (length + 1 < sizeof(probe->order) && kind != ZR_MSG_NOTE)
        probe->order[length] = "rCSXFe?E"[kind];
}

/* Handles all that has come in. True: there was something. */
static inline bool probe_take(struct probe *probe)
{
    struct zr_list messages;
    struct zr_link *link;
    zr_list_init(&messages);
    probe->zk->take(probe->zk, &messages);
    bool some = !zr_list_empty(&messages);
    while ((link = zr_list_shift(&messages)) != NULL) {
        struct zr_message *message = ZR_HOLDER(link, struct zr_message, link);
        probe_note(probe, message->kind);
        if (message->kind == ZR_MSG_REPLY) {
            ((struct ask *)message)->back = true;
            probe->under_way--;
        } else {
            probe_count(probe, (struct zr_notice *)message);
            probe->zk->free_notice(probe->zk, (struct zr_notice *)message);
        }
    }
    return some;
}

/* Waits until the counter has reached this, or the time is over. True: it has. */
static inline bool probe_wait(struct probe *probe, const int *counter, int value, int64_t us)
{
    int64_t until = probe->zk->now_us(probe->zk) + us;
    for (;;) {
        probe_take(probe);
        int64_t left = until - probe->zk->now_us(probe->zk);
        if (*counter >= value || left <= 0)
            return *counter >= value;
        probe->zk->wait(probe->zk, left);
    }
}

static inline bool probe_open(struct probe *probe, struct zr_zk *zk, const char *hosts,
                              int32_t timeout_ms)
{
    struct zr_zk_config config = {.hosts = hosts, .timeout_ms = timeout_ms};
    *probe = (struct probe){.zk = zk};
    return zk->open(zk, &config, probe, &probe->handle) == ZR_OK &&
           probe_wait(probe, &probe->connected, 1, 10000000);
}

static inline struct ask *ask_new(enum zr_op op, const char *path, const char *data)
{
    struct ask *ask = calloc(1, sizeof(*ask));
    struct zr_request *request = &ask->request;
    memcpy(ask->path, path, strnlen(path, sizeof(ask->path) - 1));
    if (data != NULL)
        memcpy(ask->data, data, strnlen(data, sizeof(ask->data) - 1));
    ask->acl = probe_open_acl;
    request->message.kind = ZR_MSG_REPLY;
    request->op = op;
    request->version = ZR_ANY_VERSION;
    request->path = ask->path;
    request->created = ask->created;
    request->acl = (struct zr_acls){&ask->acl, 1};
    if (data != NULL)
        request->data = (struct zr_bytes){ask->data, strlen(ask->data)};
    return ask;
}

static inline void ask_clear(struct ask *ask)
{
    zr_free((char *)ask->request.data_reply.at);
    zr_free(ask->request.names);
    zr_free(ask->request.acl_reply);
}

static inline void ask_free(struct ask *ask)
{
    ask_clear(ask);
    free(ask);
}

static inline void probe_submit(struct probe *probe, struct ask *ask)
{
    probe->under_way++;
    probe->zk->submit(probe->handle, &ask->request);
}

/* Waits for the answer. */
static inline enum zr_status probe_answer(struct probe *probe, struct ask *ask)
{
    while (!ask->back) {
        if (!probe_take(probe))
            probe->zk->wait(probe->zk, 1000000);
    }
    return ask->request.status;
}

/* Asks, waits, and forgets all but the status. */
static inline enum zr_status probe_do(struct probe *probe, struct ask *ask)
{
    probe_submit(probe, ask);
    enum zr_status status = probe_answer(probe, ask);
    ask_free(ask);
    return status;
}

static inline enum zr_status probe_create(struct probe *probe, enum zr_mode mode, const char *path,
                                          const char *data)
{
    struct ask *ask = ask_new(ZR_OP_CREATE, path, data);
    ask->request.mode = mode;
    return probe_do(probe, ask);
}

static inline enum zr_status probe_delete(struct probe *probe, const char *path)
{
    return probe_do(probe, ask_new(ZR_OP_DELETE, path, NULL));
}

static inline enum zr_status probe_set(struct probe *probe, const char *path, const char *data)
{
    return probe_do(probe, ask_new(ZR_OP_SET, path, data));
}

static inline enum zr_status probe_watch(struct probe *probe, enum zr_op op, const char *path)
{
    struct ask *ask = ask_new(op, path, NULL);
    ask->request.watch = true;
    return probe_do(probe, ask);
}

static inline enum zr_status probe_sync(struct probe *probe)
{
    return probe_do(probe, ask_new(ZR_OP_SYNC, "/", NULL));
}

/* Ends the session and the handle. */
static inline bool probe_close(struct probe *probe)
{
    probe->zk->close(probe->handle, 10000000);
    bool ended = probe_wait(probe, &probe->ended, 1, 20000000);
    probe->zk->free_handle(probe->handle);
    return ended;
}

#endif
