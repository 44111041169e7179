#include <string.h>

#include "core/alloc.h"
#include "core/ephemerals.h"
#include "recipes/queue/claims.h"

/*
 * Claims the items that a worker has read (read_items.c): in one transaction, create the claim of
 * each item, an ephemeral znode under the item's name (so there is one claim at most), and write
 * the item with one attempt more and the tag of this transaction. This changes the item's version,
 * so a later claim has another version.
 *
 * What can go wrong: another process was faster: the server says for which item, and the others are
 * claimed without it. The answer is lost: the tag in the first item shows the outcome.
 *
 * A session that was given up still gets answers until it is closed. A claim made in it ends with
 * it. Such an item is not delivered: the consumer has another session by then, and would never be
 * told that the claim is lost. A claim is made only in the session of our znode in `consumers`:
 * both are deleted together, which wakes the idle processes. If the claim were of another session,
 * no process would notice that it has ended.
 */

#define BYTES_MAX 500000 /* of one transaction, unless one item alone has more */

bool zr_was_faster(enum zr_status status)
{
    return status == ZR_NO_NODE || status == ZR_NODE_EXISTS || status == ZR_BAD_VERSION;
}

/* ---- The claims ---------------------------------------------------------------------------- */

static void claim_items(struct zr_task *task);

void zr_work_claim(struct zr_task *task)
{
    const struct zr_worker *worker = zr_worker_of(task);
    if (worker->count == 0)
        zr_work_more(task);
    else if (worker->got == worker->count)
        zr_work_end(task);
    else
        zr_attend_ensure(task, claim_items); /* the session may have changed meanwhile */
}

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

static void done(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    for (size_t i = worker->got; i < worker->to; i++) {
        worker->claims[i]->version++;
        worker->claims[i]->entry.attempts++;
        worker->claims[i]->generation = worker->generation;
    }
    worker->got = worker->to;
    zr_work_claim(task);
}

static void all_gone(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    while (worker->count > worker->got)
        zr_work_drop(worker, worker->count - 1);
    zr_work_claim(task);
}

/* Each claim has two parts: the znode, and the item. The last part is our znode in `consumers`. If
   that is missing, or the directory of the claims, then no item can be claimed. */
static void refused_by(struct zr_task *task, size_t part, enum zr_status status)
{
    struct zr_worker *worker = zr_worker_of(task);
    size_t at = worker->got + part / 2;
    zr_queue_of(task)->consumer.ranked_until_us = 0; /* there are others: count them again */
    if (at >= worker->to || (part % 2 == 0 && status == ZR_NO_NODE)) {
        zr_attend_check(task, all_gone);
        return;
    }
    zr_work_drop(worker, at);
    zr_work_claim(task);
}

/* An answer was lost, and the transaction was not done: its claims do not count. */
static void not_done(struct zr_task *task)
{
    const struct zr_worker *worker = zr_worker_of(task);
    for (size_t i = worker->got; i < worker->to; i++) {
        char *full = zr_queue_full(zr_queue_of(task), worker->claims[i]->claimed, "");
        if (full != NULL)
            zr_ephemerals_gone(task->session, full);
        zr_free(full);
    }
}

static void look(struct zr_task *task);

/* An item that is gone tells nothing: then the next one does. */
static void looked(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    if (task->outcome == ZR_OK && says_ours(worker, &task->call->request)) {
        done(task);
    } else if (task->outcome == ZR_NO_NODE && ++worker->at < worker->to) {
        look(task);
    } else if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE) {
        not_done(task);
        refused_by(task, worker->refused, worker->refusal);
    } else {
        zr_work_failed(task, task->outcome);
    }
}

static void look(struct zr_task *task)
{
    const struct zr_worker *worker = zr_worker_of(task);
    zr_queue_read(task, ZR_OP_GET, worker->claims[worker->at]->path, "", ZR_STEP(looked));
}

/* The first part for which the server has refused the transaction. */
static size_t refused_part(const struct zr_request *multi)
{
    size_t i = 0;
    while (i < multi->part_count && multi->parts[i].status != multi->status)
        i++;
    return i;
}

/* If an answer was lost before, perhaps our own transaction came first. */
static void refused(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    worker->refused = refused_part(&task->call->request);
    worker->refusal = task->outcome;
    worker->at = worker->got;
    if (worker->doubted)
        look(task);
    else
        refused_by(task, worker->refused, worker->refusal);
}

/* The others are claimed without an item that this session may not write. */
static void failed(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    size_t part = refused_part(&task->call->request), at = worker->got + part / 2;
    if (worker->doubted && !task->doubtful)
        not_done(task);
    if (task->outcome == ZR_NO_AUTH && !task->doubtful && part % 2 == 1 && at < worker->to) {
        worker->at = at;
        zr_work_item_failed(task, ZR_NO_AUTH);
        zr_work_claim(task);
        return;
    }
    zr_work_failed(task, task->outcome);
}

static void answered(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        done(task);
    else if (zr_was_faster(task->outcome))
        refused(task);
    else
        failed(task);
}

/* gives: what the item holds if the claim is ours. */
static char *new_text(const struct zr_worker *worker, const struct zr_entry *entry,
                      struct zr_bytes *text)
{
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

/* Adds the two parts of a claim. gives: part[1].data. */
static enum zr_status add_claim(const struct zr_worker *worker, const struct zr_claim *claim,
                                struct zr_request *part)
{
    struct zr_bytes text = ZR_NO_DATA, tag = {worker->tag, strlen(worker->tag)};
    if (new_text(worker, &claim->entry, &text) == NULL)
        return ZR_NO_MEMORY;
    part[0] = (struct zr_request){
        .op = ZR_OP_CREATE, .path = claim->claimed, .data = tag, .mode = ZR_EPHEMERAL};
    part[1] = (struct zr_request){
        .op = ZR_OP_SET, .path = claim->path, .data = text, .version = claim->version};
    return ZR_OK;
}

/* The claims count among the session's ephemeral znodes. If there is no room for one, it is freed.
 */
static enum zr_status reserve(struct zr_worker *worker, struct zr_call *call)
{
    enum zr_status status = zr_ephemerals_reserve(call);
    if (status == ZR_OK)
        return status;
    zr_call_free(call);
    worker->errand.queue->consumer.fresh_until_us = 0; /* they are ahead of the rest of the batch */
    worker->why = "the session has no room for another claim; ack some items first";
    return status;
}

static enum zr_status new_multi(struct zr_task *task, struct zr_call **call)
{
    struct zr_worker *worker = zr_worker_of(task);
    const char *presence = zr_queue_of(task)->consumer.presence;
    size_t count = worker->to - worker->got, added = 0;
    struct zr_request *parts = zr_alloc((2 * count + 1) * sizeof(parts[0]));
    enum zr_status status = parts != NULL ? ZR_OK : ZR_NO_MEMORY;
    while (status == ZR_OK && added < count) {
        status = add_claim(worker, worker->claims[worker->got + added], &parts[2 * added]);
        added += status == ZR_OK;
    }
    if (status == ZR_OK) {
        parts[2 * count] =
            (struct zr_request){.op = ZR_OP_CHECK, .path = presence, .version = ZR_ANY_VERSION};
        status = zr_call_new_multi(task->session, NULL, parts, 2 * count + 1, call);
        if (status == ZR_OK)
            status = reserve(worker, *call);
    }
    while (added > 0)
        zr_free((char *)parts[2 * --added + 1].data.at);
    zr_free(parts);
    return status;
}

/* As many items as fit into one transaction, and into the room for ephemeral znodes; but one. */
static size_t fitting(const struct zr_worker *worker, const struct zr_session *session)
{
    size_t to = worker->got, bytes = 0, room = zr_ephemerals_room(session);
    while (to < worker->count) {
        const struct zr_claim *claim = worker->claims[to];
        size_t takes = zr_ephemeral_bytes(strlen(session->namespace) + strlen(claim->claimed));
        bytes += ZR_HEADER_MAX + claim->entry.data.length + 2 * strlen(claim->path);
        if ((bytes > BYTES_MAX || takes > room) && to > worker->got)
            break;
        room -= takes < room ? takes : room;
        to++;
    }
    return to;
}

/* The session is that of our presence. */
static void claim_items(struct zr_task *task)
{
    struct zr_worker *worker = zr_worker_of(task);
    struct zr_call *call;
    worker->to = fitting(worker, task->session);
    zr_session_tag(task->session, task->session->id, worker->tag);
    zr_free(worker->asked);
    worker->asked = zr_queue_full(zr_queue_of(task), worker->claims[worker->got]->path, "");
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
