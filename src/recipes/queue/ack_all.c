#include "core/alloc.h"
#include "recipes/queue/claims.h"
#include "recipes/queue/put.h"

/*
 * Acks a list of claimed items: ack_all(claims) gives how many were acked, and the indexes of the
 * others, which are lost.
 * 1. Ack the next items without an id in one transaction, all or none. For each: delete its claim,
 *    and the item in the version that our claim has given it (as finish.c).
 * 2. Ack an item with an id alone, because its tombstone has rules of its own.
 * 3. 1 or 2 again with the items behind them.
 *
 * What can go wrong: the server refuses the transaction, because one of the items is no longer
 * ours: nothing was done. The answer is lost: all or nothing may have been done, which is noted in
 * the claims (`doubts`). In both cases each of these items is acked alone, which finds out what has
 * become of it.
 */

#define MOST 100 /* items of one transaction */

struct ack_all {
    struct zr_put put; /* acks an item alone */
    size_t count, at;  /* items; how many of them are acked or lost */
    size_t to;         /* the request acks those from `at` up to this one */
    size_t alone;      /* those before this one are acked alone */
    size_t unsure;     /* those before this one were in a request that got no answer */
    size_t ended;      /* end_acked: how many it has looked at */
    struct {
        struct zr_claim *claim; /* counted */
        bool doubted;           /* before */
        bool lost;              /* of those before `at`: not acked */
    } items[];
};

static struct ack_all *of(struct zr_task *task)
{
    return ZR_HOLDER(zr_put_of(task), struct ack_all, put);
}

static void ack_next(struct zr_task *task);

/* ---- Several items ------------------------------------------------------------------------- */

static bool is_plain(const struct zr_claim *claim)
{
    return !claim->entry.has_id && claim->end == ZR_CLAIM_LIVES;
}

/* How many items the next transaction acks. */
static size_t next_count(const struct ack_all *ack)
{
    size_t i = ack->at;
    while (i < ack->count && i - ack->at < MOST && is_plain(ack->items[i].claim))
        i++;
    return i - ack->at;
}

/* The server has refused it, or it was not sent. */
static void not_done(struct ack_all *ack)
{
    for (size_t i = ack->at; i < ack->to; i++)
        ack->items[i].claim->doubts[ZR_DOUBT_ACK] = ack->items[i].doubted;
}

static void answered(struct zr_task *task)
{
    struct ack_all *ack = of(task);
    enum zr_status status = task->outcome;
    bool unknown =
        status == ZR_CONNECTION_LOSS || (status == ZR_NO_MEMORY && task->call->request.sent);
    task->doubtful = false;
    if (unknown)
        ack->unsure = ack->to;
    else if (status != ZR_OK)
        not_done(ack);
    if (status == ZR_OK)
        ack->at = ack->to;
    else if (unknown || zr_was_faster(status))
        ack->alone = ack->to;
    else {
        zr_verb_fail(task, status);
        return;
    }
    ack_next(task);
}

static enum zr_status new_multi(struct zr_task *task, struct zr_call **call)
{
    const struct ack_all *ack = of(task);
    size_t count = 2 * (ack->to - ack->at);
    struct zr_request *parts = zr_alloc(count * sizeof(parts[0])), *part = parts;
    if (parts == NULL)
        return ZR_NO_MEMORY;
    for (size_t i = ack->at; i < ack->to; i++) {
        const struct zr_claim *claim = ack->items[i].claim;
        *part++ = (struct zr_request){
            .op = ZR_OP_DELETE, .path = claim->claimed, .version = ZR_ANY_VERSION};
        *part++ =
            (struct zr_request){.op = ZR_OP_DELETE, .path = claim->path, .version = claim->version};
    }
    enum zr_status status = zr_call_new_multi(task->session, NULL, parts, count, call);
    zr_free(parts);
    return status;
}

static void ack_some(struct zr_task *task)
{
    struct ack_all *ack = of(task);
    struct zr_call *call;
    enum zr_status status = new_multi(task, &call);
    task->subject = zr_queue_of(task)->znode.path;
    if (status == ZR_TOO_LARGE) {
        ack->alone = ack->to;
        ack_next(task);
        return;
    }
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    for (size_t i = ack->at; i < ack->to; i++) {
        ack->items[i].doubted = ack->items[i].claim->doubts[ZR_DOUBT_ACK];
        ack->items[i].claim->doubts[ZR_DOUBT_ACK] = true;
    }
    task->doubtful = task->session->state == ZR_CONNECTED; /* if the limit passes now */
    zr_verb_request(task, call, false, ZR_STEP(answered));
}

/* ---- One item ------------------------------------------------------------------------------ */

static void ack_one(struct zr_task *task)
{
    struct ack_all *ack = of(task);
    struct zr_claim *claim = ack->items[ack->at].claim;
    enum zr_status status = zr_claim_ack_by(&ack->put, claim);
    task->subject = claim->path;
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    claim->doubts[ZR_DOUBT_ACK] = true;
    zr_put_check(task);
}

static void one_over(struct zr_task *task)
{
    of(task)->at++;
    ack_next(task);
}

/* The claim of the next item has ended before. */
static void note_end(struct ack_all *ack)
{
    ack->items[ack->at].lost = ack->items[ack->at].claim->end != ZR_CLAIM_ACKED;
}

/* A verb has failed, or the limit has passed. */
static void failed(struct zr_task *task)
{
    struct ack_all *ack = of(task);
    struct zr_claim *claim = ack->items[ack->at].claim;
    enum zr_status status = task->outcome;
    bool alone = ack->to == ack->at + 1;
    if (alone && status != ZR_CONNECTION_LOSS && status != ZR_NO_MEMORY)
        claim->doubts[ZR_DOUBT_ACK] = ack->put.doubted;
    if (!alone || !zr_was_faster(status)) {
        zr_task_note_doubt(task);
        zr_task_finish(task, status);
        return;
    }
    zr_claim_end(claim, ZR_CLAIM_LOST);
    note_end(ack);
    one_over(task);
}

/* ---- The task ------------------------------------------------------------------------------ */

/* When the next request is sent, or when the caller takes the result: as with one item, a caller
   that does not take it may ack again. */
static void end_acked(struct ack_all *ack)
{
    for (; ack->ended < ack->at; ack->ended++)
        zr_claim_end(ack->items[ack->ended].claim, ZR_CLAIM_ACKED);
}

static void ack_next(struct zr_task *task)
{
    struct ack_all *ack = of(task);
    for (; ack->at < ack->count && ack->items[ack->at].claim->end != ZR_CLAIM_LIVES; ack->at++)
        note_end(ack);
    if (ack->at == ack->count) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    end_acked(ack);
    size_t count = ack->at < ack->alone ? 0 : next_count(ack);
    ack->to = ack->at + (count > 1 ? count : 1);
    zr_task_limit(task, zr_session_patience_us(task->session));
    task->doubtful = ack->at < ack->unsure; /* if it ends before it has asked */
    if (count > 1)
        ack_some(task);
    else
        ack_one(task);
}

/* Another call may have ended a claim since our answer came: what the server has told us counts. */
static void emit(struct zr_task *task, struct zr_sink *sink)
{
    struct ack_all *ack = of(task);
    int64_t acked = 0;
    end_acked(ack);
    for (size_t i = 0; i < ack->count; i++)
        acked += !ack->items[i].lost;
    sink->integer(sink, NULL, acked);
    sink->begin(sink, NULL);
    for (size_t i = 0; i < ack->count; i++)
        if (ack->items[i].lost)
            sink->integer(sink, NULL, (int64_t)i + 1);
    sink->end(sink);
}

static void emit_over(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, (int64_t)of(task)->at);
}

static void free_ack(struct zr_task *task)
{
    const struct ack_all *ack = of(task);
    for (size_t i = 0; i < ack->count; i++)
        zr_object_unref(&ack->items[i].claim->object);
    zr_put_free(task);
}

static const struct zr_task_kind kind = {.name = "queue:ack_all",
                                         .clean = zr_put_clean,
                                         .give_up = failed,
                                         .asking = zr_put_asking,
                                         .writes = true,
                                         .results = emit,
                                         .failed = emit_over,
                                         .free = free_ack};

static bool are_claims(const struct zr_queue *queue, const struct zr_arg *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct zr_claim *claim = (const struct zr_claim *)list->objects[i];
        if (claim->object.class != &zr_claim_class || claim->queue != queue || claim->taken)
            return false;
    }
    return true;
}

enum zr_status zr_queue_start_ack_all(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task)
{
    const struct zr_arg *list = &args->at[0];
    struct zr_znode_task *znode_task;
    if (!are_claims((struct zr_queue *)self, list)) {
        args->misuse = "claims of this queue expected";
        args->misused = 1;
        return ZR_BAD_ARGUMENTS;
    }
    size_t size = sizeof(struct ack_all) + list->count * sizeof(((struct ack_all *)NULL)->items[0]);
    enum zr_status status = zr_znode_task_new(size, self, &znode_task);
    if (status != ZR_OK)
        return status;
    struct ack_all *ack = of(&znode_task->task);
    ack->put.then = one_over;
    for (; ack->count < list->count; ack->count++) {
        zr_object_ref(list->objects[ack->count]);
        ack->items[ack->count].claim = (struct zr_claim *)list->objects[ack->count];
    }
    *task = &znode_task->task;
    zr_put_start(&ack->put, &kind, -1, ZR_STEP(ack_next));
    return ZR_OK;
}
