#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"
#include "recipes/queue/put.h"

/*
 * The end of a claimed item:
 * - ack: in one transaction, delete the claim, and the item in the version that our claim has given
 *   it. So a consumer that has lost its claim cannot ack for another one.
 * - nack: delete the claim, and tell consumers; or move the item to the delayed items, or to the
 *   dead letters.
 *
 * What can go wrong: the session is lost, and the claim with it: the item is free again, at its
 * place. The answer is lost, or nobody waits for it: the next call of the same kind is told so
 * (`doubts`), because after an ack the item is gone.
 */

static struct zr_bytes bytes_of(const char *text)
{
    return (struct zr_bytes){text, strlen(text)};
}

static struct zr_claim *claim_of(struct zr_task *task)
{
    return zr_put_of(task)->ended;
}

static int doubt_of(struct zr_task *task);

/* Another client has the item, or had it. */
static void lost(struct zr_task *task)
{
    struct zr_claim *claim = claim_of(task);
    bool acked = claim->doubts[ZR_DOUBT_ACK] && doubt_of(task) != ZR_DOUBT_ACK;
    task->detail = acked ? "a canceled call acked the item, or the claim was lost, so the item "
                           "went back to the queue"
                         : "the claim was lost, so the item went back to the queue";
    zr_claim_end(claim, ZR_CLAIM_LOST);
    zr_task_finish(task, ZR_LOST);
}

static void failed(struct zr_task *task)
{
    struct zr_claim *claim = claim_of(task);
    enum zr_status status = task->outcome;
    if (status != ZR_CONNECTION_LOSS && status != ZR_NO_MEMORY)
        claim->doubts[doubt_of(task)] = zr_put_of(task)->doubted;
    if (zr_was_faster(status)) {
        lost(task);
        return;
    }
    zr_task_note_doubt(task);
    zr_task_finish(task, status);
}

/* Ends it when the caller takes the result: if it does not, it may call again. */
static void emit_end(struct zr_task *task, struct zr_sink *sink)
{
    struct zr_claim *claim = claim_of(task);
    bool acked = doubt_of(task) == ZR_DOUBT_ACK;
    if (doubt_of(task) == ZR_DOUBT_RETURN)
        zr_consumer_came_back(claim->queue);
    zr_claim_end(claim, acked ? ZR_CLAIM_ACKED : ZR_CLAIM_NACKED);
    sink->boolean(sink, NULL, true);
}

static void free_end(struct zr_task *task)
{
    struct zr_object *claim = &claim_of(task)->object;
    zr_put_free(task);
    zr_object_unref(claim);
}

#define KIND(called)                                                                               \
    {                                                                                              \
        .name = (called), .clean = zr_put_clean, .give_up = failed, .asking = zr_put_asking,       \
        .results = emit_end, .free = free_end                                                      \
    }
static const struct zr_task_kind kinds[ZR_DOUBTS] = {KIND("item:ack"), KIND("item:nack"),
                                                     KIND("item:nack")};

static int doubt_of(struct zr_task *task)
{
    return (int)(task->kind - kinds);
}

/* ---- The methods --------------------------------------------------------------------------- */

static void set_held(const struct zr_claim *claim, struct zr_append_options *options, int doubt)
{
    options->held = true;
    options->doubted = claim->doubts[doubt];
}

static enum zr_status start_end(struct zr_claim *claim, struct zr_append_options *options,
                                struct zr_bytes data, int doubt, struct zr_task **task)
{
    struct zr_put *put;
    set_held(claim, options, doubt);
    enum zr_status status = zr_put_new_move(&claim->queue->znode.object, options, data, &put);
    if (status != ZR_OK)
        return status;
    claim->doubts[doubt] = true;
    put->ended = claim;
    zr_object_ref(&claim->object);
    *task = &put->queue_task.znode_task.task;
    zr_put_run(put, &kinds[doubt], claim->path);
    return ZR_OK;
}

/* Its tombstone takes the place of an item with an id. */
static enum zr_status set_ack(const struct zr_claim *claim, struct zr_append_options *options,
                              struct zr_move_room *room)
{
    enum zr_status status = zr_claim_move(claim, options, room);
    options->put_count = ZR_NO_DATA;
    if (claim->entry.has_id)
        options->lane = bytes_of("done");
    return status;
}

enum zr_status zr_claim_start_ack(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    struct zr_claim *claim = (struct zr_claim *)self;
    struct zr_append_options options = {.attempts = 0};
    struct zr_move_room room;
    (void)args;
    enum zr_status status = set_ack(claim, &options, &room);
    if (status != ZR_OK)
        return status;
    status = start_end(claim, &options, (struct zr_bytes){"", 0}, ZR_DOUBT_ACK, task);
    zr_free(room.paths);
    return status;
}

enum zr_status zr_claim_ack_by(struct zr_put *put, struct zr_claim *claim)
{
    struct zr_append_options options = {.attempts = 0};
    struct zr_move_room room;
    enum zr_status status = set_ack(claim, &options, &room);
    if (status != ZR_OK)
        return status;
    set_held(claim, &options, ZR_DOUBT_ACK);
    status = zr_put_renew_move(put, &options, (struct zr_bytes){"", 0});
    zr_free(room.paths);
    return status;
}

/* nack(delay) */
enum zr_status zr_claim_start_nack(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task)
{
    struct zr_claim *claim = (struct zr_claim *)self;
    struct zr_append_options options = {.attempts = claim->entry.attempts};
    struct zr_move_room room;
    bool dead = claim->entry.attempts >= claim->queue->consumer.attempts;
    int64_t delay_us = dead ? 0 : args->at[0].integer;
    int doubt = dead || delay_us > 0 ? ZR_DOUBT_MOVE : ZR_DOUBT_RETURN;
    enum zr_status status = zr_claim_move(claim, &options, &room);
    if (status != ZR_OK)
        return status;
    if (dead)
        options.lane = bytes_of("dead");
    options.delay_us = delay_us;
    if (doubt == ZR_DOUBT_MOVE)
        options.put_count = ZR_NO_DATA;
    else
        options.id = ZR_NO_DATA;
    status = start_end(claim, &options, claim->entry.data, doubt, task);
    zr_free(room.paths);
    return status;
}
