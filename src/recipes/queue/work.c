#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * Claims an item, for a worker (worker.c); one task for each, so many claims are in flight at once.
 * 1. Make sure that our znode in `consumers` exists (attend.c).
 * 2. Read the item.
 * 3. In one transaction, create the claim, an ephemeral znode under the item's name (so there is
 *    one claim at most), and write the item with one attempt more and the tag of this claim. This
 *    changes the item's version, so a later claim has another version.
 *
 * What can go wrong: another process was faster: try the next item of the batch. The item has had
 * all its attempts: move it to the dead letters. The answer is lost: the item's tag shows the
 * outcome. The znode cannot be read as an item: leave it out from now on.
 *
 * A session that was given up still gets answers until it is closed. A claim made in it ends with
 * it. Such an item is not delivered: the consumer has another session by then, and would never be
 * told that the claim is lost. A claim is made only in the session of our znode in `consumers`:
 * both are deleted together, which wakes the idle processes. If the claim were of another session,
 * no process would notice that it has ended.
 */

bool zr_was_faster(enum zr_status status)
{
    return status == ZR_NO_NODE || status == ZR_NODE_EXISTS || status == ZR_BAD_VERSION;
}

/* ---- The claim ----------------------------------------------------------------------------- */

/* True if the item says that our transaction was done. */
static bool says_ours(const struct zr_worker *worker, const struct zr_request *answer)
{
    struct zr_entry entry;
    size_t length = strlen(worker->tag);
    return answer->status == ZR_OK && zr_item_read(answer->data_reply, &entry) &&
           entry.claimant.length == length && memcmp(entry.claimant.at, worker->tag, length) == 0;
}

static bool was_done(struct zr_task *task, const struct zr_request *answer)
{
    zr_worker_of(task)->doubted = true;
    return says_ours(zr_worker_of(task), answer);
}

static void done(struct zr_task *task, int32_t version)
{
    struct zr_worker *worker = zr_worker_of(task);
    worker->claim->version = version;
    worker->claim->entry.attempts++;
    if (worker->generation == task->session->generation)
        zr_work_got(task);
    else
        zr_work_gone(task);
}

static void looked(struct zr_task *task)
{
    if (task->outcome == ZR_OK && says_ours(zr_worker_of(task), &task->call->request))
        done(task, task->call->request.stat.version);
    else if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        zr_work_gone(task);
    else
        zr_work_failed(task, task->outcome);
}

static void look(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_GET, zr_worker_of(task)->asked, false, ZR_STEP(looked));
}

/* An answer was lost before: perhaps our own transaction came first. */
static void refused(struct zr_task *task)
{
    if (zr_worker_of(task)->doubted)
        look(task);
    else if (task->outcome == ZR_NO_NODE)
        zr_attend_check(task, zr_work_gone);
    else
        zr_work_gone(task);
}

static void answered(struct zr_task *task)
{
    const struct zr_request *answer = &task->call->request;
    if (task->outcome == ZR_OK && answer->op == ZR_OP_MULTI)
        done(task, answer->parts[1].stat.version);
    else if (task->outcome == ZR_OK)
        done(task, answer->stat.version);
    else if (zr_was_faster(task->outcome))
        refused(task);
    else
        zr_work_failed(task, task->outcome);
}

/* gives: what the item holds if the claim is ours. */
static char *new_text(struct zr_worker *worker, struct zr_bytes *text)
{
    const struct zr_entry *entry = &worker->claim->entry;
    char *at = zr_alloc(ZR_HEADER_MAX + entry->data.length + 1);
    if (at == NULL)
        return NULL;
    const struct zr_bytes claimant = {worker->tag, strlen(worker->tag)};
    size_t header =
        zr_item_header(at, entry->attempts + 1, entry->priority, claimant, zr_entry_id(entry));
    memcpy(at + header, entry->data.at, entry->data.length);
    *text = (struct zr_bytes){at, header + entry->data.length};
    return at;
}

static enum zr_status new_multi(struct zr_task *task, struct zr_call **call)
{
    struct zr_worker *worker = zr_worker_of(task);
    const struct zr_claim *claim = worker->claim;
    struct zr_bytes text = ZR_NO_DATA, tag = {worker->tag, strlen(worker->tag)};
    char *room = new_text(worker, &text);
    if (room == NULL)
        return ZR_NO_MEMORY;
    const struct zr_request parts[] = {
        {.op = ZR_OP_CREATE, .path = claim->claimed, .data = tag, .mode = ZR_EPHEMERAL},
        {.op = ZR_OP_SET, .path = claim->path, .data = text, .version = claim->version},
        {.op = ZR_OP_CHECK,
         .path = zr_queue_of(task)->consumer.presence,
         .version = ZR_ANY_VERSION},
    };
    enum zr_status status = zr_call_new_multi(task->session, NULL, parts, 3, call);
    zr_free(room);
    return status;
}

/* The session is that of our presence. */
static void claim_item(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_call *call;
    zr_session_tag(task->session, task->session->id, worker->tag);
    zr_free(worker->asked);
    worker->asked = zr_queue_full(zr_queue_of(task), worker->claim->path, "");
    enum zr_status status = worker->asked != NULL ? new_multi(task, &call) : ZR_NO_MEMORY;
    if (status != ZR_OK) {
        zr_work_failed(task, status);
        return;
    }
    call->bound = true;
    call->generation = worker->generation = task->session->generation;
    worker->transaction.op = ZR_OP_GET;
    worker->transaction.path = worker->asked;
    worker->transaction.was_done = was_done;
    zr_verb_transact(task, call, &worker->transaction, ZR_STEP(answered));
}

/* ---- Reading it ---------------------------------------------------------------------------- */

static void buried(struct zr_task *task)
{
    enum zr_status status = zr_worker_of(task)->errand.status;
    if (status == ZR_OK || zr_was_faster(status))
        zr_work_gone(task);
    else
        zr_work_failed(task, status);
}

/* It has had all its attempts. */
static void bury(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_append_options options = {.attempts = worker->claim->entry.attempts};
    struct zr_move_room room;
    enum zr_status status = zr_claim_move(worker->claim, &options, &room);
    if (status == ZR_OK) {
        options.put_count = ZR_NO_DATA;
        options.lane = (struct zr_bytes){"dead", 4};
        status = zr_errand_run(&worker->errand, task, &options, worker->claim->entry.data,
                               ZR_STEP(buried));
        zr_free(room.paths);
    }
    if (status != ZR_OK)
        zr_work_failed(task, status);
}

static void read_item(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_claim *claim = worker->claim;
    struct zr_request *answer = &task->call->request;
    zr_free(claim->data);
    claim->data = (char *)answer->data_reply.at;
    claim->version = answer->stat.version;
    bool readable = zr_item_read(answer->data_reply, &claim->entry);
    answer->data_reply = ZR_NO_DATA;
    if (!readable)
        zr_work_unreadable(task);
    else if (claim->entry.attempts >= zr_queue_of(task)->consumer.attempts)
        bury(task);
    else if (worker->takes)
        zr_take_item(task);
    else
        zr_attend_ensure(task, claim_item); /* the session may have changed meanwhile */
}

static void read_answered(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        read_item(task);
    else if (task->outcome == ZR_NO_NODE)
        zr_work_gone(task);
    else
        zr_work_failed(task, task->outcome);
}

static void read_place(struct zr_task *task)
{
    zr_queue_read(task, ZR_OP_GET, zr_worker_of(task)->claim->path, "", ZR_STEP(read_answered));
}

void zr_work_begin(struct zr_task *task)
{
    zr_attend_ensure(task, read_place);
}
