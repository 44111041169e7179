#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/names.h"
#include "recipes/counter/write.h"

/*
 * Writes to a counter, each done exactly once. The algorithm is ours.
 *
 * 1. The counter object has a mark: an ephemeral child of the counter's znode (mark.h). If it has
 *    none: create one, then read the counter's znode.
 * 2. One multi sets the mark to the number of this write, on the condition that the mark has the
 *    version that we know; and sets the counter's znode, on the condition that it has the version
 *    that was read. (`set` has no condition for the counter's znode.)
 * 3. The answer has both versions, so the next write begins with 2. The writes of one object take
 *    turns.
 *
 * Each version of the mark lets at most one multi pass, whenever and however often it arrives. And
 * the mark proves that the counter's znode was not deleted, and made anew with the same version,
 * since it was read.
 *
 * What can go wrong: another client has written: the multi is refused for the counter's version;
 * read again. The answer is lost: the mark's data tell whether it was done (transact). The mark has
 * another version: an earlier request of ours was done late; its data tell which one. The mark is
 * gone: the session is lost, or the counter was deleted. Then a multi that was answered or not sent
 * was not done, and begins anew with another mark. But if an answer was lost, nobody can tell.
 * The session is lost before that: the multi is sent in the next session, under the same condition.
 */

#define MEMORY_PAUSE_US 100000

struct zr_write *zr_write_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_task_of(task), struct zr_write, znode_task);
}

struct zr_counter *zr_counter_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_of(task), struct zr_counter, znode);
}

/* ---- Turns --------------------------------------------------------------------------------- */

static void prepare(struct zr_task *task);

static void pass_on(struct zr_counter *counter)
{
    struct zr_link *first = zr_list_first(&counter->turn.tasks);
    counter->writer = first != NULL ? ZR_HOLDER(first, struct zr_task, in_signal) : NULL;
    if (first != NULL)
        zr_task_wake(counter->writer, ZR_OK);
}

void zr_write_begin(struct zr_task *task)
{
    struct zr_counter *counter = zr_counter_of(task);
    if (counter->writer != NULL) {
        zr_verb_await(task, &counter->turn, ZR_STEP(prepare));
        return;
    }
    counter->writer = task;
    prepare(task);
}

void zr_write_finish(struct zr_task *task)
{
    pass_on(zr_counter_of(task));
    zr_task_finish(task, ZR_OK);
}

/* A mark that was perhaps made is not used later, because its create must not be repeated. */
static void put_back(struct zr_counter *counter, struct zr_task *task)
{
    if (counter->mark != NULL && !counter->mark->made) {
        zr_mark_drop(counter->mark, task->session);
        counter->mark = NULL;
    }
    pass_on(counter);
}

/* While a lost answer is in doubt, a multi may be done late that the server has not seen yet. No
   other code may be taken for "was not done". */
static void explain_doubt(struct zr_task *task)
{
    const struct zr_write *write = zr_write_of(task);
    if (task->status == ZR_CONNECTION_LOSS) {
        if (write->doubted && !write->gone)
            task->detail = "an answer was lost, and no other came within the time limit";
    } else if (task->status != ZR_CANCELED && task->status != ZR_CLOSED &&
               task->status != ZR_FORKED) {
        zr_task_explain(task, "an answer was lost, and the read that would tell failed: %s",
                        zr_status_text(task->status));
        task->status = ZR_CONNECTION_LOSS;
    }
}

void zr_write_give_up(struct zr_task *task)
{
    struct zr_counter *counter = zr_counter_of(task);
    if (task->doubtful)
        explain_doubt(task);
    if (counter->writer == task)
        put_back(counter, task);
    zr_task_finish(task, ZR_OK);
}

static void unknown(struct zr_task *task)
{
    zr_write_of(task)->gone = task->doubtful = true;
    task->detail = "the answer was lost, and so was the mark by which the counter knows its writes";
    zr_verb_fail(task, ZR_CONNECTION_LOSS);
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* The mark has no znode. */
static void renew(struct zr_task *task)
{
    struct zr_counter *counter = zr_counter_of(task);
    zr_mark_free(counter->mark);
    counter->mark = NULL;
    prepare(task);
}

static void mark(struct zr_task *task);

static void looked(struct zr_task *task)
{
    struct zr_counter *counter = zr_counter_of(task);
    const struct zr_request *answer = &task->call->request;
    enum zr_status status = answer->status;
    if (!zr_mark_usable(counter->mark, task->session)) { /* another session has read */
        prepare(task);
        return;
    }
    if (status == ZR_NO_NODE) { /* the mark is gone, too; to delete it tells the session so */
        mark(task);
        return;
    }
    if (status == ZR_OK)
        status = zr_counter_read(task, answer, &counter->value);
    counter->known = status == ZR_OK;
    counter->version = answer->stat.version;
    if (status == ZR_OK)
        zr_write_of(task)->decide(task);
    else
        zr_verb_fail(task, status);
}

/* True if no connection was lost since the sync was answered. */
static bool is_behind(struct zr_task *task)
{
    return zr_write_of(task)->connections == task->session->connections;
}

static void looked_behind(struct zr_task *task)
{
    zr_write_of(task)->fresh = is_behind(task);
    if (is_behind(task))
        looked(task);
    else
        zr_write_refresh(task);
}

static void read_counter(struct zr_task *task, enum zr_op op, struct zr_next next)
{
    zr_verb_read(task, op, zr_counter_of(task)->znode.full, false, next);
}

static void synced(struct zr_task *task)
{
    zr_write_of(task)->connections = task->session->connections;
    if (task->outcome == ZR_OK)
        read_counter(task, ZR_OP_GET, ZR_STEP(looked_behind));
    else
        zr_verb_fail(task, task->outcome);
}

/* The server that answers may lag. It does not lag behind an answer that this call has got to a
   write, nor behind a sync on the same connection. */
void zr_write_refresh(struct zr_task *task)
{
    if (zr_write_of(task)->fresh)
        read_counter(task, ZR_OP_GET, ZR_STEP(looked));
    else
        read_counter(task, ZR_OP_SYNC, ZR_STEP(synced));
}

/* ---- The mark ------------------------------------------------------------------------------ */

static void marked(struct zr_task *task)
{
    struct zr_counter *counter = zr_counter_of(task);
    if (task->outcome == ZR_OK) {
        counter->mark->made = zr_write_of(task)->fresh = true;
        zr_write_of(task)->decide(task);
    } else if (task->outcome == ZR_NO_NODE) {
        zr_mark_free(counter->mark);
        counter->mark = NULL;
        zr_znode_make(task, (struct zr_bytes){"0", 1}, ZR_STEP(prepare));
    } else if (task->outcome == ZR_CONNECTION_LOSS || task->outcome == ZR_LOST) {
        prepare(task);
    } else {
        zr_verb_fail(task, task->outcome);
    }
}

static void mark(struct zr_task *task)
{
    struct zr_counter *counter = zr_counter_of(task);
    struct zr_call *create;
    zr_mark_drop(counter->mark, task->session);
    counter->mark = NULL;
    counter->known = zr_write_of(task)->fresh = false;
    if (task->session->id == 0) { /* it was lost just now */
        zr_verb_await(task, &task->session->changed, ZR_STEP(prepare));
        return;
    }
    enum zr_status status =
        zr_mark_new(task->session, counter->znode.full, &counter->mark, &create);
    if (status == ZR_OK)
        zr_verb_request(task, create, false, ZR_STEP(marked));
    else
        zr_verb_fail(task, status);
}

static void prepare(struct zr_task *task)
{
    if (zr_mark_usable(zr_counter_of(task)->mark, task->session))
        zr_write_of(task)->decide(task);
    else
        mark(task);
}

/* ---- Writing ------------------------------------------------------------------------------- */

static bool is_ours(struct zr_task *task, const struct zr_request *answer)
{
    const char *number = zr_write_of(task)->number;
    return answer->data_reply.length == strlen(number) &&
           memcmp(answer->data_reply.at, number, strlen(number)) == 0;
}

/* Without the mark nobody can tell; written() knows that. */
static bool was_done(struct zr_task *task, const struct zr_request *answer)
{
    zr_write_of(task)->doubted = task->doubtful = true;
    zr_write_of(task)->gone = answer->status == ZR_NO_NODE;
    return zr_write_of(task)->gone || is_ours(task, answer);
}

/* The multi was certainly not done, and cannot be done late. */
static void again(struct zr_task *task)
{
    zr_counter_of(task)->known = zr_write_of(task)->doubted = task->doubtful = false;
    zr_write_of(task)->fresh = true;
    zr_write_of(task)->decide(task);
}

static void ask_mark(struct zr_task *task);

static void ask_mark_later(struct zr_task *task)
{
    zr_verb_pause(task, MEMORY_PAUSE_US, ZR_STEP(ask_mark));
    task->doubtful = zr_write_of(task)->doubted;
}

/* An answer to a multi (or to the read of its mark) that says no more than this. */
static void refused(struct zr_task *task, enum zr_status status)
{
    bool doubted = zr_write_of(task)->doubted;
    if (doubted && status == ZR_NO_MEMORY)
        ask_mark_later(task);
    else if (status != ZR_NO_NODE)
        zr_verb_fail(task, status);
    else if (doubted)
        unknown(task);
    else
        renew(task);
}

static void learn(struct zr_task *task, const struct zr_request *answer)
{
    zr_counter_of(task)->known = false;
    zr_counter_of(task)->mark->version = answer->stat.version;
    if (is_ours(task, answer))
        zr_write_finish(task);
    else
        again(task);
}

/* While the outcome is in doubt, neither a limit nor missing memory may end the task as if nothing
   was done. */
static void ask(struct zr_task *task, enum zr_op op, struct zr_next next)
{
    struct zr_call *call;
    const char *path = zr_counter_of(task)->mark->path;
    if (zr_call_new_full(task->session, op, path, ZR_NO_DATA, &call) != ZR_OK) {
        ask_mark_later(task);
        return;
    }
    zr_verb_request(task, call, true, next);
    task->doubtful = zr_write_of(task)->doubted;
}

static void mark_read(struct zr_task *task)
{
    if (task->outcome == ZR_NO_MEMORY)
        ask_mark_later(task);
    else if (!is_behind(task))
        ask_mark(task);
    else if (task->outcome != ZR_OK)
        refused(task, task->outcome);
    else
        learn(task, &task->call->request);
}

static void mark_synced(struct zr_task *task)
{
    zr_write_of(task)->connections = task->session->connections;
    if (task->outcome == ZR_OK)
        ask(task, ZR_OP_GET, ZR_STEP(mark_read));
    else if (task->outcome == ZR_NO_MEMORY)
        ask_mark_later(task);
    else
        refused(task, task->outcome);
}

/* The server of another session may lag behind the refusal. */
static void ask_mark(struct zr_task *task)
{
    ask(task, ZR_OP_SYNC, ZR_STEP(mark_synced));
}

static void done(struct zr_task *task)
{
    struct zr_counter *counter = zr_counter_of(task);
    const struct zr_request *answer = &task->call->request;
    if (answer->op != ZR_OP_MULTI) {
        learn(task, answer);
        return;
    }
    counter->mark->version = answer->parts[0].stat.version;
    counter->version = answer->parts[1].stat.version;
    counter->value = zr_write_of(task)->value;
    counter->known = true;
    zr_write_finish(task);
}

/* If the server got as far as the counter's version, the mark had the version that we know. */
static void written(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (zr_write_of(task)->gone)
        unknown(task);
    else if (status == ZR_OK)
        done(task);
    else if (status != ZR_BAD_VERSION)
        refused(task, status);
    else if (task->call->request.parts[0].status == ZR_BAD_VERSION)
        ask_mark(task);
    else
        again(task);
}

static enum zr_status new_multi(struct zr_task *task, int32_t version, struct zr_call **call)
{
    struct zr_write *write = zr_write_of(task);
    const struct zr_counter *counter = zr_counter_of(task);
    const struct zr_request parts[] = {
        {.op = ZR_OP_SET,
         .path = zr_path_inside(task->session->namespace, counter->mark->path),
         .data = {write->number, strlen(write->number)},
         .version = counter->mark->version},
        {.op = ZR_OP_SET,
         .path = counter->znode.path,
         .data = {write->text, strlen(write->text)},
         .version = version},
    };
    return zr_call_new_multi(task->session, NULL, parts, 2, call);
}

void zr_write_value(struct zr_task *task, int64_t value, int32_t version)
{
    struct zr_write *write = zr_write_of(task);
    struct zr_call *call;
    write->value = value;
    sprintf(write->text, "%" PRId64, value);
    write->transaction.op = ZR_OP_GET;
    write->transaction.path = zr_counter_of(task)->mark->path;
    write->transaction.was_done = was_done;
    enum zr_status status = new_multi(task, version, &call);
    if (status == ZR_OK)
        zr_verb_transact(task, call, &write->transaction, ZR_STEP(written));
    else
        zr_verb_fail(task, status);
}
