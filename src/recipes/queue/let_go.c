#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * No caller has a claimed item any more: delete the claim, and write what the item held before our
 * claim, so that the attempt does not count. A taken item is put again, in the place of its
 * tombstone if it has one. In the background; the task is a part of the claim, so that this needs
 * no memory to begin.
 *
 * What can go wrong: the session is lost, and the claim with it: nothing is left to do. The answer
 * is lost, there is no memory, or the server refuses it: try again. But a put that may have been
 * done is not repeated.
 */

#define PAUSE_US 50000
#define LONGEST_US 3000000

static struct zr_bytes bytes_of(const char *text)
{
    return (struct zr_bytes){text, strlen(text)};
}

static void let_go(struct zr_task *task);

static struct zr_claim *leaving(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_claim, task);
}

static void try_again(struct zr_task *task)
{
    struct zr_claim *claim = leaving(task);
    int64_t pause = claim->pause_us;
    claim->pause_us = 2 * pause < LONGEST_US ? 2 * pause : LONGEST_US;
    zr_verb_pause(task, pause, ZR_STEP(let_go));
}

/* It may succeed later. */
static bool passes(enum zr_status status)
{
    return status != ZR_OK && status != ZR_TOO_LARGE && !zr_was_faster(status);
}

static void moved(struct zr_task *task)
{
    struct zr_claim *claim = leaving(task);
    enum zr_status status = claim->errand.status;
    if (passes(status) && !claim->taken) { /* a put must not be done twice */
        try_again(task);
        return;
    }
    if (status == ZR_OK) {
        if (claim->taken)
            claim->queue->consumer.missing--;
        zr_consumer_came_back(claim->queue);
    }
    zr_claim_end(claim, zr_was_faster(status) ? ZR_CLAIM_LOST : ZR_CLAIM_NACKED);
    zr_task_finish(task, ZR_OK);
}

/* ---- What it holds then -------------------------------------------------------------------- */

/* gives: what the item held before our claim. */
static bool make_text(struct zr_claim *claim)
{
    const struct zr_entry *entry = &claim->entry;
    if (claim->text != NULL)
        return true;
    claim->text = zr_alloc(ZR_HEADER_MAX + entry->data.length + 1);
    if (claim->text == NULL)
        return false;
    size_t header = zr_item_header(claim->text, entry->attempts - 1, entry->priority,
                                   entry->claimant, zr_entry_id(entry));
    memcpy(claim->text + header, entry->data.at, entry->data.length);
    claim->text_length = header + entry->data.length;
    return true;
}

/* A taken item is put again, in the place of its tombstone if it has one. */
static enum zr_status put_back(struct zr_claim *claim, struct zr_task *task)
{
    const struct zr_entry *entry = &claim->entry;
    struct zr_append_options options = {.attempts = entry->attempts - 1,
                                        .priority = entry->priority};
    struct zr_bytes lane = bytes_of(claim->lane->name);
    char bucket[ZR_BUCKET_NAME], tag[ZR_ITEM_TAG];
    const char *root = claim->queue->znode.path;
    size_t size = strlen(root) + sizeof(claim->done) + 64;
    char *text = entry->has_id && claim->done[0] != '\0' ? zr_alloc(2 * size) : NULL;
    if (entry->has_id && text == NULL)
        return claim->done[0] != '\0' ? ZR_NO_MEMORY : ZR_NO_NODE;
    options.lane = lane;
    options.id = zr_entry_id(entry);
    if (text != NULL) {
        snprintf(text, size, "%s/done%s/%s", root, zr_bucket_name(claim->bucket_done, bucket),
                 claim->done);
        snprintf(text + size, size, "%s/done/out", root);
        zr_item_tag(claim->done, tag);
        options.from = bytes_of(text);
        options.out = bytes_of(text + size);
        options.tag = bytes_of(tag);
    }
    enum zr_status status =
        zr_errand_run(&claim->errand, task, &options, entry->data, ZR_STEP(moved));
    zr_free(text);
    return status;
}

static enum zr_status give_back(struct zr_claim *claim, struct zr_task *task)
{
    struct zr_append_options options = {.attempts = 0};
    struct zr_move_room room;
    if (!make_text(claim))
        return ZR_NO_MEMORY;
    enum zr_status status = zr_claim_move(claim, &options, &room);
    if (status != ZR_OK)
        return status;
    options.id = ZR_NO_DATA;
    options.text = (struct zr_bytes){claim->text, claim->text_length};
    options.held = true;
    options.doubted = claim->doubts[ZR_DOUBT_RETURN];
    claim->doubts[ZR_DOUBT_RETURN] = true;
    status =
        zr_errand_run(&claim->errand, task, &options, (struct zr_bytes){"", 0}, ZR_STEP(moved));
    zr_free(room.paths);
    return status;
}

/* ---- The task ------------------------------------------------------------------------------ */

static void let_go(struct zr_task *task)
{
    struct zr_claim *claim = leaving(task);
    enum zr_status status = zr_session_usable(task->session);
    if (status != ZR_OK || claim->end != ZR_CLAIM_LIVES) {
        zr_claim_end(claim, ZR_CLAIM_NACKED);
        zr_task_finish(task, ZR_OK);
        return;
    }
    status = claim->taken ? put_back(claim, task) : give_back(claim, task);
    if (status == ZR_NO_MEMORY) {
        try_again(task);
    } else if (status != ZR_OK) {
        zr_claim_end(claim, ZR_CLAIM_NACKED);
        zr_task_finish(task, ZR_OK);
    }
}

static void let_go_free(struct zr_task *task)
{
    leaving(task)->leaving = false;
    zr_object_unref(&leaving(task)->object);
}

static const struct zr_task_kind let_go_kind = {
    .name = "item:let_go", .clean = let_go, .free = let_go_free};

void zr_claim_let_go(struct zr_claim *claim)
{
    struct zr_session *session = claim->queue->znode.session;
    if (claim->leaving || claim->end != ZR_CLAIM_LIVES || zr_engine_forked(session->engine))
        return;
    claim->leaving = true;
    claim->pause_us = PAUSE_US;
    if (claim->taken)
        claim->queue->consumer.missing++;
    zr_object_ref(&claim->object);
    zr_task_start_cleaning(&claim->task, &let_go_kind, session);
}
