#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/names.h"
#include "recipes/counter/write.h"

/*
 * The multi that writes, and its outcome. The steps are in write.c.
 */

#define MEMORY_PAUSE_US 100000

static void unknown(struct zr_task *task)
{
    zr_write_of(task)->gone = task->doubtful = true;
    task->detail = "the answer was lost, and so was the mark by which the counter knows its writes";
    zr_verb_fail(task, ZR_CONNECTION_LOSS);
}

static bool is_ours(struct zr_task *task, const struct zr_request *answer)
{
    const char *number = zr_write_of(task)->number;
    return answer->data_reply.length == strlen(number) &&
           memcmp(answer->data_reply.at, number, strlen(number)) == 0;
}

/* Without the mark the outcome stays unknown; written() knows that. */
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
        zr_write_renew(task);
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
    const char *path = zr_counter_of(task)->mark->path;
    if (zr_verb_try_read(task, op, path, false, next) == ZR_OK)
        task->doubtful = zr_write_of(task)->doubted;
    else
        ask_mark_later(task);
}

static void mark_read(struct zr_task *task)
{
    if (task->outcome == ZR_NO_MEMORY)
        ask_mark_later(task);
    else if (!zr_write_is_behind(task))
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
    zr_write_of(task)->stat = answer->parts[1].stat;
    counter->mark->version = answer->parts[0].stat.version;
    counter->version = answer->parts[1].stat.version;
    counter->value = zr_write_of(task)->value;
    counter->known = !zr_write_of(task)->raw;
    zr_write_finish(task);
}

static void beaten(struct zr_task *task)
{
    zr_write_of(task)->beaten = true;
    again(task);
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
        beaten(task);
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
        {.op = ZR_OP_SET, .path = counter->znode.path, .data = write->data, .version = version},
    };
    return zr_call_new_multi(task->session, NULL, parts, 2, call);
}

void zr_write_value(struct zr_task *task, int64_t value, int32_t version)
{
    struct zr_write *write = zr_write_of(task);
    write->value = value;
    sprintf(write->text, "%" PRId64, value);
    zr_write_data(task, (struct zr_bytes){write->text, strlen(write->text)}, version);
}

void zr_write_data(struct zr_task *task, struct zr_bytes data, int32_t version)
{
    struct zr_write *write = zr_write_of(task);
    struct zr_call *call;
    write->data = data;
    write->transaction.op = ZR_OP_GET;
    write->transaction.path = zr_counter_of(task)->mark->path;
    write->transaction.was_done = was_done;
    enum zr_status status = new_multi(task, version, &call);
    if (status == ZR_OK)
        zr_verb_transact(task, call, &write->transaction, ZR_STEP(written));
    else
        zr_verb_fail(task, status);
}
