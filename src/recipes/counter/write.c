#include "recipes/counter/write.h"

#include <inttypes.h>
#include <stdio.h>

/*
 * Writes to a counter, each done exactly once. The algorithm is ours.
 *
 * 1. The counter object has a mark: an ephemeral child of the counter's znode (write_mark.h). If it
 * has none: create one, then read the counter's znode.
 * 2. One multi sets the mark to the number of this write, on the condition that the mark has the
 *    version that we know; and sets the counter's znode, on the condition that it has the version
 *    that was read. (`set` has no condition for the counter's znode.)
 * 3. The answer has both versions, so the next write begins with 2. The writes of one object take
 *    turns.
 *
 * Each version of the mark lets at most one multi pass, whenever and however often it arrives. The
 * mark also proves that since the read the counter's znode was not deleted and created again with
 * the same version.
 *
 * What can go wrong: another client has written: the multi is refused for the counter's version;
 * read again. The answer is lost: the mark's data tell whether it was done (transact). The mark has
 * another version: an earlier request of ours was done late; its data tell which one. The mark is
 * gone: the session is lost, or the counter was deleted. Then a multi that was answered or not sent
 * was not done, and begins again with another mark. But if an answer was lost, the outcome stays
 * unknown.
 * The session is lost before that: the multi is sent in the next session, under the same condition.
 */

/* ---- The task ------------------------------------------------------------------------------ */

struct zr_write *zr_write_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_task_of(task), struct zr_write, znode_task);
}

struct zr_counter *zr_counter_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_of(task), struct zr_counter, znode);
}

enum zr_status zr_write_new(size_t size, struct zr_object *self, zr_step *decide,
                            struct zr_write **write)
{
    struct zr_znode_task *znode_task;
    enum zr_status status = zr_znode_task_new(size, self, &znode_task);
    if (status != ZR_OK)
        return status;
    *write = ZR_HOLDER(znode_task, struct zr_write, znode_task);
    (*write)->decide = decide;
    sprintf((*write)->number, "%" PRIu64, ++((struct zr_counter *)self)->writes);
    return ZR_OK;
}

/* A task that waits for its turn waits for the writer's answer. */
bool zr_write_asking(const struct zr_task *task)
{
    const struct zr_znode_task *znode_task = ZR_HOLDER(task, struct zr_znode_task, task);
    const struct zr_write *write = ZR_HOLDER(znode_task, struct zr_write, znode_task);
    const struct zr_task *writer = ((const struct zr_counter *)znode_task->znode)->writer;
    return task->asking || write->doubted || (writer != NULL && writer->asking);
}

void zr_write_free(struct zr_task *task)
{
    zr_transaction_fini(&zr_write_of(task)->transaction);
    zr_znode_task_free(task);
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

void zr_write_differs(struct zr_task *task)
{
    zr_write_of(task)->differs = true;
    zr_write_finish(task);
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
        zr_task_explain(task,
                        "an answer was lost, and the read that would show the outcome failed: %s",
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

/* ---- Reading ------------------------------------------------------------------------------- */

void zr_write_renew(struct zr_task *task)
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
        counter->mark->czxid = answer->stat.czxid;
    if (status == ZR_OK && !zr_write_of(task)->raw)
        status = zr_counter_read(task, answer, &counter->value);
    counter->known = status == ZR_OK;
    counter->version = answer->stat.version;
    if (status == ZR_OK)
        zr_write_of(task)->decide(task);
    else
        zr_verb_fail(task, status);
}

bool zr_write_is_behind(struct zr_task *task)
{
    return zr_write_of(task)->connections == task->session->connections;
}

static void looked_behind(struct zr_task *task)
{
    zr_write_of(task)->fresh = zr_write_is_behind(task);
    if (zr_write_is_behind(task))
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

/* A znode without data has no value yet. */
static void make_znode(struct zr_task *task)
{
    const struct zr_bytes zero = {"0", 1};
    zr_znode_make(task, zr_write_of(task)->raw ? ZR_NO_DATA : zero, ZR_STEP(prepare));
}

static void marked(struct zr_task *task)
{
    struct zr_counter *counter = zr_counter_of(task);
    if (task->outcome == ZR_OK) {
        counter->mark->made = zr_write_of(task)->fresh = true;
        zr_write_of(task)->decide(task);
    } else if (task->outcome == ZR_NO_NODE) {
        zr_mark_free(counter->mark);
        counter->mark = NULL;
        if (zr_write_of(task)->existing)
            zr_write_differs(task);
        else
            make_znode(task);
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
