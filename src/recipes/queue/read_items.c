#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * The first steps of a worker (worker.c):
 * 1. Make sure that our znode in `consumers` exists (attend.c).
 * 2. Read the items, all in one flight. For the stock (stock.c) keep only those that are at their
 *    first attempt.
 * 3. Claim them (work.c), or take one (take.c).
 *
 * What can go wrong: the item is gone. It has had all its attempts: move it to the dead letters. A
 * znode cannot be read as an item: leave it out from now on. The session may not read it: tell one
 * caller, and leave it out for a while (batch.c). The connection is lost: read again.
 */

static void consider(struct zr_task *task);

static void buried(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    enum zr_status status = worker->errand.status;
    if (status == ZR_OK || zr_was_faster(status))
        zr_work_drop(worker, worker->at);
    else
        zr_work_item_failed(task, status);
    consider(task);
}

/* It has had all its attempts. Errors: the verb has not begun. */
static enum zr_status bury(struct zr_task *task, const struct zr_claim *claim)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_append_options options = {.attempts = claim->entry.attempts};
    struct zr_move_room room;
    enum zr_status status = zr_claim_move(claim, &options, &room);
    if (status != ZR_OK)
        return status;
    options.put_count = ZR_NO_DATA;
    options.lane = (struct zr_bytes){"dead", 4};
    status = zr_errand_run(&worker->errand, task, &options, claim->entry.data, ZR_STEP(buried));
    zr_free(room.paths);
    return status;
}

/* Takes what was read. False if it is not an item. */
static bool take_answer(struct zr_claim *claim)
{
    struct zr_request *answer = &claim->read->request;
    zr_free(claim->data);
    claim->data = (char *)answer->data_reply.at;
    claim->version = answer->stat.version;
    bool readable = zr_item_read(answer->data_reply, &claim->entry);
    answer->data_reply = ZR_NO_DATA;
    return readable;
}

/* If this process dies, the attempt counts, although no caller had the item. So an item is claimed
   in advance only if this is its first attempt, and not its last one. Otherwise items would become
   dead letters unseen, because they are behind one that kills its consumers. */
static bool is_for_caller_only(const struct zr_worker *worker, const struct zr_claim *claim)
{
    size_t callers = 0;
    if (claim->entry.attempts == 0 && claim->queue->consumer.attempts > 1)
        return false;
    ZR_LIST_EACH (link, &worker->waiters)
        callers++;
    return worker->at >= callers;
}

/* Looks at the next item. False if a verb has begun. */
static bool look_at(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_claim *claim = worker->claims[worker->at];
    enum zr_status status = claim->read->request.status;
    bool readable = status == ZR_OK && take_answer(claim);
    bool poison = readable && claim->entry.attempts >= claim->queue->consumer.attempts;
    if (status == ZR_OK && !readable)
        status = zr_leave_out(claim);
    if (poison)
        status = bury(task, claim);
    if (poison && status == ZR_OK)
        return false;
    if (status != ZR_OK && status != ZR_NO_NODE)
        zr_work_item_failed(task, status);
    else if (readable && is_for_caller_only(worker, claim))
        zr_work_cut(worker);
    else if (readable)
        worker->at++;
    else
        zr_work_drop(worker, worker->at);
    return true;
}

static void consider(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    while (worker->at < worker->count)
        if (!look_at(task))
            return;
    if (worker->count > 0 && worker->takes)
        zr_take_item(task);
    else
        zr_work_claim(task);
}

static void read_back(struct zr_call *call)
{
    struct zr_worker *worker = call->owner;
    if (call->request.status == ZR_CONNECTION_LOSS)
        zr_call_again(call);
    else if (--worker->reading == 0)
        zr_signal_fire(&worker->read, ZR_OK);
}

static enum zr_status read_item(struct zr_worker *worker, struct zr_claim *claim)
{
    struct zr_session *session = claim->queue->znode.session;
    zr_call_free(claim->read);
    claim->read = NULL;
    enum zr_status status = zr_call_new(session, ZR_OP_GET, claim->path, ZR_NO_DATA, &claim->read);
    if (status != ZR_OK)
        return status;
    worker->reading++;
    zr_call_start(claim->read, read_back, worker);
    return ZR_OK;
}

static void read_items(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    enum zr_status status = ZR_OK;
    worker->reading = worker->at = worker->got = 0;
    for (size_t i = 0; i < worker->count && status == ZR_OK; i++)
        status = read_item(worker, worker->claims[i]);
    if (status == ZR_OK)
        zr_verb_await(task, &worker->read, ZR_STEP(consider));
    else
        zr_work_failed(task, status);
}

void zr_work_begin(struct zr_task *task)
{
    zr_attend_ensure(task, read_items);
}
