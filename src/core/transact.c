#include "core/verb_parts.h"

/*
 * A transaction that must be done once, though its answer may be lost:
 * 1. Send it. The server answers: the next step sees the outcome.
 * 2. The answer is lost: keep the call, and send a sync and the transaction's read in one flight.
 * 3. The read shows that it was done: the next step sees ZR_OK. It was not done: 1 again.
 *
 * What can go wrong: the connection is lost between the sync and the read: both are sent again,
 * because a read counts only behind a sync on the same connection. Memory is exhausted: pause, and
 * ask again. The read is refused: the outcome stays unknown.
 */

#define MEMORY_PAUSE_US 100000

static void answered(struct zr_task *task);
static void ask(struct zr_task *task);

/* ---- After a lost answer ------------------------------------------------------------------- */

static void send_again(struct zr_task *task)
{
    struct zr_transaction *transaction = task->transaction;
    struct zr_call *call = transaction->call;
    transaction->call = NULL;
    zr_part_send(task, call, answered);
}

static void judge(struct zr_task *task)
{
    struct zr_transaction *transaction = task->transaction;
    const struct zr_call *call = transaction->call;
    task->outcome = ZR_OK;
    task->doubtful = false;
    if (transaction->was_done(task, &task->call->request))
        zr_task_verb_done(task, ZR_OK);
    else if (zr_call_stale(call))
        zr_task_verb_done(task, ZR_LOST);
    else if (zr_part_too_large(task, zr_request_size(&call->request)))
        zr_task_verb_done(task, ZR_TOO_LARGE);
    else
        send_again(task);
}

/* Until the outcome is known, a limit that passes must not say that nothing was done. */
static void ask_later(struct zr_task *task)
{
    zr_part_pause(task, MEMORY_PAUSE_US, ask);
    task->asking = true;
}

/* If the sync is not back, it went out in an earlier session than the read, which proves nothing.
 */
static enum zr_status outcome_of(const struct zr_call *sync)
{
    return sync->state == ZR_CALL_BACK ? sync->request.status : ZR_CONNECTION_LOSS;
}

static void read_answered(struct zr_task *task)
{
    enum zr_status before = outcome_of(task->transaction->sync);
    if (task->outcome == ZR_NO_MEMORY || before == ZR_NO_MEMORY)
        ask_later(task);
    else if (task->outcome == ZR_CONNECTION_LOSS || before == ZR_CONNECTION_LOSS)
        ask(task);
    else if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        zr_task_verb_done(task, task->outcome); /* task->doubtful: it is unknown */
    else if (before != ZR_OK)
        zr_task_verb_done(task, before);
    else
        judge(task);
}

static void synced(struct zr_call *call)
{
    (void)call; /* read_answered looks at it */
}

static enum zr_status new_reads(struct zr_task *task, struct zr_call **read)
{
    struct zr_transaction *transaction = task->transaction;
    zr_call_free(transaction->sync);
    transaction->sync = NULL;
    enum zr_status status =
        zr_call_new_full(task->session, transaction->op, transaction->path, ZR_NO_DATA, read);
    if (status != ZR_OK)
        return status;
    status = zr_call_new_full(task->session, ZR_OP_SYNC, transaction->path, ZR_NO_DATA,
                              &transaction->sync);
    if (status != ZR_OK)
        zr_call_free(*read);
    return status;
}

static void ask(struct zr_task *task)
{
    struct zr_call *read;
    if (new_reads(task, &read) != ZR_OK) {
        ask_later(task);
        return;
    }
    zr_call_start(task->transaction->sync, synced, NULL);
    zr_part_send(task, read, read_answered);
}

/* ---- The verb ------------------------------------------------------------------------------ */

static void answered(struct zr_task *task)
{
    struct zr_call *call = task->call;
    bool unknown = task->outcome == ZR_CONNECTION_LOSS || task->outcome == ZR_NO_MEMORY;
    if (!unknown || (task->outcome == ZR_NO_MEMORY && !call->request.sent)) {
        zr_task_verb_done(task, ZR_OK);
    } else if (call->request.sent) {
        task->transaction->call = call;
        task->call = NULL;
        task->doubtful = true;
        ask(task);
    } else if (zr_call_stale(call)) {
        zr_task_verb_done(task, ZR_LOST);
    } else {
        zr_call_again(call);
    }
}

void zr_transaction_fini(struct zr_transaction *transaction)
{
    zr_call_free(transaction->call);
    zr_call_free(transaction->sync);
}

void zr_verb_transact(struct zr_task *task, struct zr_call *call,
                      struct zr_transaction *transaction, struct zr_next next)
{
    zr_transaction_fini(transaction);
    transaction->call = transaction->sync = NULL;
    task->next = next;
    task->transaction = transaction;
    zr_part_send(task, call, answered);
}
