#include "recipes/barrier/latch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"

/*
 * The latch opens after n counts, and stays open. The algorithm is ours.
 *
 * 1. The znode holds n; its version is the number of counts so far.
 * 2. count_down reads it. Then one request creates a znode for this count, and sets the latch's
 *    znode on the condition that it still has the version that was read. The last count also
 * creates the znode "open".
 * 3. wait compares n with the znode's data, then waits until "open" exists (latch_wait.c). So the
 *    waiters are woken once, not by every count.
 *
 * What can go wrong: another client has counted meanwhile: read again, try again. The latch is
 * missing, or was deleted: make it, try again. The answer is lost: the znode of this count shows
 * whether it was counted; a count that is done late makes the repeated one fail, because that znode
 * exists. A client that knows no latch writes the znode: that counts, too. If so all counts are
 * there, but not "open", the next one that looks creates "open".
 */

#define COUNT_MAX 1000000

struct zr_latch_task *zr_latch_task_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_task_of(task), struct zr_latch_task, znode_task);
}

struct zr_latch *zr_latch_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_of(task), struct zr_latch, znode);
}

static int64_t left(const struct zr_latch *latch, int64_t counted)
{
    return counted < latch->total ? latch->total - counted : 0;
}

/* ---- Looking ------------------------------------------------------------------------------- */

static void look(struct zr_task *task);

static void seen(struct zr_task *task)
{
    zr_latch_task_of(task)->seen.step(task);
}

static void conflict(struct zr_task *task, struct zr_bytes data)
{
    bool number = data.length > 0 && data.length < 12;
    for (size_t i = 0; i < data.length && number; i++)
        number = data.at[i] >= '0' && data.at[i] <= '9';
    if (number)
        zr_task_explain(
            task, "it was made for %.*s counts, not for %" PRId64 "; delete it to make a new one",
            (int)data.length, data.at, zr_latch_of(task)->total);
    else
        task->detail = "the znode is not a latch; use another path";
    zr_verb_fail(task, ZR_CONFLICT);
}

static void made(struct zr_task *task)
{
    zr_latch_task_of(task)->counted = 0;
    if (task->outcome == ZR_OK)
        seen(task);
    else
        look(task);
}

/* If the server does not let us, the latch is open nevertheless. */
static void tried_to_open(struct zr_task *task)
{
    if (task->outcome == ZR_LOST)
        look(task);
    else
        seen(task);
}

static void open_it(struct zr_task *task)
{
    const struct zr_request what = {
        .op = ZR_OP_CREATE, .path = zr_latch_of(task)->open, .data = {"", 0}};
    zr_verb_ask(task, &what, true, ZR_STEP(tried_to_open));
}

static void latch_read(struct zr_task *task, const struct zr_stat *stat)
{
    const struct zr_latch *latch = zr_latch_of(task);
    zr_latch_task_of(task)->counted = stat->version;
    /* One child for each count, and "open", unless another client has made or deleted some. */
    if (stat->version >= latch->total && stat->child_count != latch->total + 1)
        open_it(task);
    else
        seen(task);
}

static void looked(struct zr_task *task)
{
    const char *text = zr_latch_of(task)->text;
    const struct zr_request *request = &task->call->request;
    const struct zr_bytes data = request->data_reply;
    if (task->outcome == ZR_NO_NODE)
        zr_znode_make(task, (struct zr_bytes){text, strlen(text)}, ZR_STEP(made));
    else if (task->outcome != ZR_OK)
        zr_verb_fail(task, task->outcome);
    else if (data.length == strlen(text) && memcmp(data.at, text, data.length) == 0)
        latch_read(task, &request->stat);
    else
        conflict(task, data);
}

static void look(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_GET, zr_znode_of(task)->full, false, ZR_STEP(looked));
}

void zr_latch_look(struct zr_task *task, struct zr_next next)
{
    zr_latch_task_of(task)->seen = next;
    look(task);
}

/* ---- count_down ---------------------------------------------------------------------------- */

struct count {
    struct zr_latch_task latch_task;
    struct zr_transaction transaction; /* its path is that of this count's znode */
    char own[];
};

static struct count *count_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_latch_task_of(task), struct count, latch_task);
}

static void count(struct zr_task *task);

static bool was_counted(struct zr_task *task, const struct zr_request *answer)
{
    (void)task;
    return answer->status == ZR_OK;
}

static void finish(struct zr_task *task, int64_t counted)
{
    zr_latch_task_of(task)->counted = counted;
    zr_task_finish(task, ZR_OK);
}

/* If the count's znode exists, an earlier request of ours was done late. */
static void counted(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NODE_EXISTS)
        finish(task, zr_latch_task_of(task)->counted + 1);
    else if (task->outcome == ZR_BAD_VERSION || task->outcome == ZR_NO_NODE)
        zr_latch_look(task, ZR_STEP(count));
    else
        zr_verb_fail(task, task->outcome);
}

/* One count, under the version that was read. */
static enum zr_status new_multi(struct zr_task *task, struct zr_call **call)
{
    const struct zr_latch *latch = zr_latch_of(task);
    const struct zr_session *session = task->session;
    int64_t version = zr_latch_task_of(task)->counted;
    const struct zr_request parts[] = {
        {.op = ZR_OP_CREATE,
         .path = zr_path_inside(session->namespace, count_of(task)->own),
         .data = {"", 0}},
        {.op = ZR_OP_SET,
         .path = latch->znode.path,
         .data = {latch->text, strlen(latch->text)},
         .version = (int32_t)version},
        {.op = ZR_OP_CREATE,
         .path = zr_path_inside(session->namespace, latch->open),
         .data = {"", 0}},
    };
    return zr_call_new_multi(task->session, NULL, parts, version + 1 == latch->total ? 3 : 2, call);
}

/* Names this count's znode as no other contender does, in any session. */
static void name(struct zr_task *task)
{
    struct count *count = count_of(task);
    char tag[ZR_TAG];
    if (count->own[0] != '\0')
        return;
    zr_session_tag(task->session, task->session->id, tag);
    sprintf(count->own, "%s/%s", zr_znode_of(task)->full, tag);
}

static void count(struct zr_task *task)
{
    struct zr_call *call;
    if (zr_latch_task_of(task)->counted >= zr_latch_of(task)->total) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    if (task->session->id == 0) { /* it was lost just now */
        zr_verb_await(task, &task->session->changed, ZR_STEP(count));
        return;
    }
    name(task);
    enum zr_status status = new_multi(task, &call);
    if (status == ZR_OK)
        zr_verb_transact(task, call, &count_of(task)->transaction, ZR_STEP(counted));
    else
        zr_verb_fail(task, status);
}

static void count_down(struct zr_task *task)
{
    zr_latch_look(task, ZR_STEP(count));
}

static void results(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, left(zr_latch_of(task), zr_latch_task_of(task)->counted));
}

static void free_count(struct zr_task *task)
{
    zr_transaction_fini(&count_of(task)->transaction);
    zr_znode_task_free(task);
}

static const struct zr_task_kind count_down_kind = {
    .name = "latch:count_down", .results = results, .free = free_count};

static enum zr_status start_count_down(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    size_t size = sizeof(struct count) + strlen(((struct zr_znode *)self)->full) + 1 + ZR_TAG;
    enum zr_status status = zr_znode_task_new(size, self, &znode_task);
    if (status != ZR_OK)
        return status;
    *task = &znode_task->task;
    struct count *count = count_of(*task);
    count->transaction =
        (struct zr_transaction){.op = ZR_OP_EXISTS, .path = count->own, .was_done = was_counted};
    zr_znode_task_start(znode_task, &count_down_kind, &args->at[0], ZR_STEP(count_down));
    return ZR_OK;
}

/* ---- count --------------------------------------------------------------------------------- */

static void done(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

static void only_look(struct zr_task *task)
{
    zr_latch_look(task, ZR_STEP(done));
}

static const struct zr_task_kind count_kind = {
    .name = "latch:count", .results = results, .free = zr_znode_task_free};

static enum zr_status start_count(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    enum zr_status status = zr_znode_task_new(sizeof(struct zr_latch_task), self, &znode_task);
    if (status != ZR_OK)
        return status;
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, &count_kind, &args->at[0], ZR_STEP(only_look));
    return ZR_OK;
}

/* ---- The class ----------------------------------------------------------------------------- */

static void free_latch(struct zr_object *self)
{
    zr_free(((struct zr_latch *)self)->open);
    zr_znode_free(self);
}

static const struct zr_method methods[] = {
    {.name = "count_down", .args = "t?", .start = start_count_down},
    {.name = "count", .args = "t?", .start = start_count},
    {.name = "wait", .args = "t?", .start = zr_latch_wait},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", zr_znode_get_path}, {"session", zr_znode_get_session}, {NULL, NULL}};

const struct zr_class zr_latch_class = {"latch", methods, properties, NULL, free_latch};

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    int64_t total = args->at[1].integer;
    if (total < 1 || total > COUNT_MAX) {
        args->misuse = "whole number from 1 to 1000000 expected";
        return ZR_BAD_ARGUMENTS;
    }
    enum zr_status status =
        zr_znode_new(sizeof(struct zr_latch), &zr_latch_class, session, args, object);
    if (status != ZR_OK)
        return status;
    struct zr_latch *latch = (struct zr_latch *)*object;
    latch->total = total;
    snprintf(latch->text, sizeof(latch->text), "%" PRId64, total);
    zr_signal_init(&latch->looked);
    latch->open = zr_path_child(latch->znode.full, "open");
    if (latch->open != NULL)
        return ZR_OK;
    zr_object_unref(*object);
    return ZR_NO_MEMORY;
}

const struct zr_recipe zr_latch_recipe = {.name = "latch", .args = "pi", .make = make};
