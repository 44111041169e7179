#include "probe.h"

static const struct zr_acl probe_open_acl = {31, "world", "anyone"};

static void probe_event(struct probe *probe, const struct zr_notice *notice)
{
    static const char *const kinds[] = {"created", "deleted", "changed", "children"};
    if (probe->events < PROBE_EVENTS)
        snprintf(probe->event[probe->events++], sizeof(probe->event[0]), "%s %s",
                 kinds[notice->event], notice->text != NULL ? notice->text : "(any)");
}

static void probe_count(struct probe *probe, const struct zr_notice *notice)
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

static void probe_note(struct probe *probe, enum zr_message_kind kind)
{
    size_t length = strlen(probe->order);
    if (length + 1 < sizeof(probe->order) && kind != ZR_MSG_NOTE)
        probe->order[length] = "rCSXFe?E"[kind];
}

bool probe_take(struct probe *probe)
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

bool probe_wait(struct probe *probe, const int *counter, int value, int64_t us)
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

bool probe_open(struct probe *probe, struct zr_zk *zk, const char *hosts, int32_t timeout_ms)
{
    struct zr_zk_config config = {.hosts = hosts, .timeout_ms = timeout_ms};
    *probe = (struct probe){.zk = zk};
    return zk->open(zk, &config, probe, &probe->handle) == ZR_OK &&
           probe_wait(probe, &probe->connected, 1, 10000000);
}

struct ask *ask_new(enum zr_op op, const char *path, const char *data)
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

static void ask_clear(struct ask *ask)
{
    zr_free((char *)ask->request.data_reply.at);
    zr_free(ask->request.names);
    zr_free(ask->request.acl_reply);
}

void ask_free(struct ask *ask)
{
    ask_clear(ask);
    free(ask);
}

void probe_submit(struct probe *probe, struct ask *ask)
{
    probe->under_way++;
    probe->zk->submit(probe->handle, &ask->request);
}

enum zr_status probe_answer(struct probe *probe, struct ask *ask)
{
    while (!ask->back) {
        if (!probe_take(probe))
            probe->zk->wait(probe->zk, 1000000);
    }
    return ask->request.status;
}

enum zr_status probe_do(struct probe *probe, struct ask *ask)
{
    probe_submit(probe, ask);
    enum zr_status status = probe_answer(probe, ask);
    ask_free(ask);
    return status;
}

enum zr_status probe_create(struct probe *probe, enum zr_mode mode, const char *path,
                            const char *data)
{
    struct ask *ask = ask_new(ZR_OP_CREATE, path, data);
    ask->request.mode = mode;
    return probe_do(probe, ask);
}

enum zr_status probe_delete(struct probe *probe, const char *path)
{
    return probe_do(probe, ask_new(ZR_OP_DELETE, path, NULL));
}

enum zr_status probe_set(struct probe *probe, const char *path, const char *data)
{
    return probe_do(probe, ask_new(ZR_OP_SET, path, data));
}

enum zr_status probe_watch(struct probe *probe, enum zr_op op, const char *path)
{
    struct ask *ask = ask_new(op, path, NULL);
    ask->request.watch = true;
    return probe_do(probe, ask);
}

enum zr_status probe_sync(struct probe *probe)
{
    return probe_do(probe, ask_new(ZR_OP_SYNC, "/", NULL));
}

bool probe_close(struct probe *probe)
{
    probe->zk->close(probe->handle, 10000000);
    bool ended = probe_wait(probe, &probe->ended, 1, 20000000);
    probe->zk->free_handle(probe->handle);
    return ended;
}
