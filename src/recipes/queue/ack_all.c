#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * Acks several claimed items in one transaction: all or none. ack_all.lua marks their claims, then
 * starts this. For each item: delete its claim, and the item in the version that our claim has
 * given it (as finish.c).
 *
 * What can go wrong: the server refuses it, because one of the items is no longer ours: nothing was
 * done. The answer is lost: all or nothing may have been done, which is noted in the claims
 * (`doubts`). In both cases the result is false, and each item is acked alone, which finds out what
 * has become of it.
 */

struct zr_ack_all {
    struct zr_queue_task queue_task;
    bool done;
    size_t count;
    struct {
        struct zr_claim *claim; /* counted */
        bool doubted;           /* before */
    } at[];
};

static struct zr_ack_all *ack_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_queue_task_of(task), struct zr_ack_all, queue_task);
}

enum zr_status zr_claim_mark(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    struct zr_claim *claim = (struct zr_claim *)self;
    (void)args;
    (void)sink;
    if (!zr_linked(&claim->in_marked))
        zr_list_append(&claim->queue->consumer.marked, &claim->in_marked);
    return ZR_OK;
}

/* ---- The transaction ----------------------------------------------------------------------- */

/* The server has refused it, or it was not sent. */
static void not_done(struct zr_task *task)
{
    const struct zr_ack_all *ack = ack_of(task);
    for (size_t i = 0; i < ack->count; i++)
        ack->at[i].claim->doubts[ZR_DOUBT_ACK] = ack->at[i].doubted;
}

static void answered(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    bool unknown =
        status == ZR_CONNECTION_LOSS || (status == ZR_NO_MEMORY && task->call->request.sent);
    if (!unknown && status != ZR_OK)
        not_done(task);
    ack_of(task)->done = status == ZR_OK;
    if (status == ZR_OK || unknown || zr_was_faster(status))
        zr_task_finish(task, ZR_OK);
    else
        zr_verb_fail(task, status);
}

static enum zr_status new_multi(struct zr_task *task, struct zr_call **call)
{
    const struct zr_ack_all *ack = ack_of(task);
    struct zr_request *parts = zr_alloc(2 * ack->count * sizeof(parts[0])), *part = parts;
    if (parts == NULL)
        return ZR_NO_MEMORY;
    for (size_t i = 0; i < ack->count; i++) {
        const struct zr_claim *claim = ack->at[i].claim;
        *part++ = (struct zr_request){
            .op = ZR_OP_DELETE, .path = claim->claimed, .version = ZR_ANY_VERSION};
        *part++ =
            (struct zr_request){.op = ZR_OP_DELETE, .path = claim->path, .version = claim->version};
    }
    enum zr_status status = zr_call_new_multi(task->session, NULL, parts, 2 * ack->count, call);
    zr_free(parts);
    return status;
}

static void send(struct zr_task *task)
{
    struct zr_ack_all *ack = ack_of(task);
    struct zr_call *call;
    enum zr_status status = new_multi(task, &call);
    if (status == ZR_TOO_LARGE)
        zr_task_finish(task, ZR_OK);
    else if (status != ZR_OK)
        zr_verb_fail(task, status);
    if (status != ZR_OK)
        return;
    for (size_t i = 0; i < ack->count; i++) {
        ack->at[i].doubted = ack->at[i].claim->doubts[ZR_DOUBT_ACK];
        ack->at[i].claim->doubts[ZR_DOUBT_ACK] = true;
    }
    zr_verb_request(task, call, false, ZR_STEP(answered));
}

/* ---- The task ------------------------------------------------------------------------------ */

/* As for one item: they end when the caller takes the result. */
static void emit(struct zr_task *task, struct zr_sink *sink)
{
    const struct zr_ack_all *ack = ack_of(task);
    for (size_t i = 0; i < ack->count && ack->done; i++)
        zr_claim_end(ack->at[i].claim, ZR_CLAIM_ACKED);
    sink->boolean(sink, NULL, ack->done);
}

static void free_ack(struct zr_task *task)
{
    const struct zr_ack_all *ack = ack_of(task);
    for (size_t i = 0; i < ack->count; i++)
        zr_object_unref(&ack->at[i].claim->object);
    zr_queue_task_free(task);
}

static const struct zr_task_kind kind = {
    .name = "queue:ack_all", .writes = true, .results = emit, .free = free_ack};

static size_t marked(const struct zr_consumer *consumer)
{
    size_t count = 0;
    ZR_LIST_EACH (link, &consumer->marked)
        count++;
    return count;
}

static void add(struct zr_ack_all *ack, struct zr_claim *claim)
{
    zr_object_ref(&claim->object);
    ack->at[ack->count++].claim = claim;
}

enum zr_status zr_queue_start_ack_all(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task)
{
    struct zr_consumer *consumer = &((struct zr_queue *)self)->consumer;
    struct zr_znode_task *znode_task = NULL;
    struct zr_ack_all *ack = NULL;
    struct zr_link *link;
    (void)args;
    enum zr_status status =
        zr_znode_task_new(sizeof(*ack) + marked(consumer) * sizeof(ack->at[0]), self, &znode_task);
    if (status == ZR_OK)
        ack = ack_of(&znode_task->task);
    while ((link = zr_list_shift(&consumer->marked)) != NULL)
        if (ack != NULL)
            add(ack, ZR_HOLDER(link, struct zr_claim, in_marked));
    if (ack == NULL)
        return status;
    struct zr_session *session = znode_task->znode->session;
    const struct zr_arg limit = {.given = true, .integer = zr_session_patience_us(session)};
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, &kind, &limit, ZR_STEP(send));
    return ZR_OK;
}
