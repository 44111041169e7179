#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * The items of a listing: which of them this process may claim, and in which order.
 * 1. Take the items out of the names, in the order of their numbers.
 * 2. Leave out those that are claimed, or that this process is claiming, or that it cannot read.
 * 3. Divide the others into shares, one for each consumer, so that consumers do not compete for the
 *    same items. A consumer whose share is empty takes from the other shares.
 *
 * A znode that is no item but is named like one is read once; after that, this process's listings
 * leave it out. They leave out an item that the session may not read or move, too, but only for a
 * minute: its ACL may change, or the session's credentials.
 */

#define BATCH 200 /* items that one listing gives out */
#define FEW 10    /* the same, while more urgent items may come */
#define FIRST "00000"
#define DIGITS 10 /* at the end of an item's name */
#define FORBIDDEN_US 60000000

/* A znode that cannot be read as an item. */
struct unreadable {
    struct zr_link link;
    struct zr_lane *lane;
    int64_t bucket;
    int64_t until_us; /* it is left out; 0: as long as it exists */
    bool there;       /* it was in the listing that is looked at */
    char name[];
};

/* ---- In order ------------------------------------------------------------------------------ */

static int by_number(const void *one, const void *other)
{
    const char *a = *(char *const *)one, *b = *(char *const *)other;
    return memcmp(a + strlen(a) - DIGITS, b + strlen(b) - DIGITS, DIGITS);
}

static int by_due(const void *one, const void *other)
{
    int64_t a = zr_item_due(*(char *const *)one), b = zr_item_due(*(char *const *)other);
    return a != b ? (a > b) - (a < b) : by_number(one, other);
}

char **zr_items_in_order(const struct zr_queue *queue, const struct zr_names *names, bool delayed,
                         size_t *count)
{
    size_t most = names != NULL ? names->count : 0;
    char **at = zr_alloc((most + 1) * sizeof(at[0]));
    *count = 0;
    if (at == NULL)
        return NULL;
    for (size_t i = 0; i < most; i++)
        if (zr_is_item(names->at[i], delayed) && !zr_is_void(names->at[i], queue->bucket_size))
            at[(*count)++] = names->at[i];
    qsort(at, *count, sizeof(at[0]), delayed ? by_due : by_number);
    return at;
}

static int by_size(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

int64_t *zr_buckets_in_order(const struct zr_names *names, size_t *count)
{
    size_t most = names != NULL ? names->count : 0;
    int64_t *at = zr_alloc((most + 1) * sizeof(at[0]));
    *count = 0;
    if (at == NULL)
        return NULL;
    for (size_t i = 0; i < most; i++)
        if (zr_bucket_of_name(names->at[i]) >= 0)
            at[(*count)++] = zr_bucket_of_name(names->at[i]);
    qsort(at, *count, sizeof(at[0]), by_size);
    return at;
}

/* ---- What cannot be read ------------------------------------------------------------------- */

static struct unreadable *find(const struct zr_consumer *consumer, const struct zr_lane *lane,
                               int64_t bucket, const char *name)
{
    ZR_LIST_EACH (link, &consumer->unreadable) {
        struct unreadable *one = ZR_HOLDER(link, struct unreadable, link);
        if (one->lane == lane && one->bucket == bucket && strcmp(one->name, name) == 0)
            return one;
    }
    return NULL;
}

/* gives: to the list. */
static struct unreadable *add(struct zr_consumer *consumer, struct zr_lane *lane, int64_t bucket,
                              const char *name)
{
    struct unreadable *one = zr_alloc(sizeof(*one) + strlen(name) + 1);
    if (one == NULL)
        return NULL;
    one->lane = lane;
    one->bucket = bucket;
    strcpy(one->name, name);
    zr_list_append(&consumer->unreadable, &one->link);
    return one;
}

enum zr_status zr_leave_out(const struct zr_claim *claim)
{
    struct zr_consumer *consumer = &claim->queue->consumer;
    return add(consumer, claim->lane, claim->bucket, claim->name) != NULL ? ZR_OK : ZR_NO_MEMORY;
}

bool zr_forbid(struct zr_queue *queue, struct zr_lane *lane, int64_t bucket, const char *name)
{
    struct zr_session *session = queue->znode.session;
    struct unreadable *one = find(&queue->consumer, lane, bucket, name);
    char number[ZR_BUCKET_NAME];
    bool known = one != NULL;
    if (!known) {
        one = add(&queue->consumer, lane, bucket, name);
        zr_engine_note(session, 'W',
                       "queue %s: no permission to read or move %s%s/%s; it is skipped, and tried "
                       "again from time to time",
                       queue->znode.path, lane->path, zr_bucket_name(bucket, number), name);
    }
    if (one != NULL)
        one->until_us = zr_engine_now_us(session->engine) + FORBIDDEN_US;
    return !known;
}

static void forget(struct unreadable *one)
{
    zr_unlink(&one->link);
    zr_free(one);
}

void zr_unreadable_prune(struct zr_consumer *consumer, const struct zr_batch *batch)
{
    if (zr_list_empty(&consumer->unreadable))
        return;
    for (size_t i = 0; i < batch->count; i++) {
        struct unreadable *one = find(consumer, batch->lane, batch->bucket, batch->at[i]);
        if (one != NULL)
            one->there = true;
    }
    ZR_LIST_EACH (link, &consumer->unreadable) {
        struct unreadable *one = ZR_HOLDER(link, struct unreadable, link);
        bool here = one->lane == batch->lane && one->bucket == batch->bucket;
        if (here && !one->there)
            forget(one);
        else if (here)
            one->there = false;
    }
}

void zr_unreadable_clear(struct zr_queue *queue)
{
    struct zr_link *link;
    while ((link = zr_list_first(&queue->consumer.unreadable)) != NULL)
        forget(ZR_HOLDER(link, struct unreadable, link));
}

/* ---- What is claimed ----------------------------------------------------------------------- */

static int by_text(const void *key, const void *name)
{
    return strcmp(key, *(char *const *)name);
}

static bool is_claimed(const struct zr_search *look, const char *name)
{
    const struct zr_names *names = look->claimed;
    const struct zr_batch *batch = &look->batch;
    char key[ZR_ITEM_TAG + 64];
    snprintf(key, sizeof(key), "%s.%010" PRId64 ".%s", batch->lane->name, batch->bucket, name);
    return names != NULL && names->count > 0 &&
           bsearch(key, names->at, names->count, sizeof(names->at[0]), by_text) != NULL;
}

/* This process claims it right now. */
static bool is_worked_on(struct zr_consumer *consumer, const struct zr_batch *batch, char *path,
                         const char *name)
{
    char number[ZR_BUCKET_NAME];
    if (consumer->working_on.count == 0)
        return false;
    sprintf(path, "%s%s/%s", batch->lane->path, zr_bucket_name(batch->bucket, number), name);
    return zr_table_find(&consumer->working_on, path) != NULL;
}

static bool is_left_out(const struct zr_queue *queue, const struct zr_batch *batch,
                        const char *name)
{
    const struct unreadable *one = find(&queue->consumer, batch->lane, batch->bucket, name);
    int64_t now_us = zr_engine_now_us(queue->znode.session->engine);
    return one != NULL && (one->until_us == 0 || now_us < one->until_us);
}

enum zr_status zr_batch_filter(struct zr_search *look)
{
    struct zr_queue *queue = zr_queue_of(&look->queue_task.znode_task.task);
    struct zr_batch *batch = &look->batch;
    size_t count = 0;
    char *path = zr_alloc(strlen(batch->lane->path) + ZR_BUCKET_NAME + ZR_ITEM_TAG + 64);
    if (path == NULL)
        return ZR_NO_MEMORY;
    for (size_t i = 0; i < batch->count; i++) {
        char *name = batch->at[i];
        if (!is_claimed(look, name) && !is_worked_on(&queue->consumer, batch, path, name) &&
            !is_left_out(queue, batch, name))
            batch->at[count++] = name;
    }
    zr_free(path);
    batch->count = count;
    return ZR_OK;
}

/* ---- Our share ----------------------------------------------------------------------------- */

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Moves our items to the front. Returns how many there are, at most `most`. */
static size_t own_items(struct zr_batch *batch, size_t count, size_t rank, size_t most)
{
    size_t own = 0;
    for (size_t i = 0; i < batch->count && own < most; i++)
        if (count == 1 || (size_t)zr_item_number(batch->at[i]) % count == rank)
            batch->at[own++] = batch->at[i];
    return own;
}

static void reverse(char **at, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        char *name = at[i];
        at[i] = at[count - 1 - i];
        at[count - 1 - i] = name;
    }
}

/* Begins with the item at `from`, and continues with the first one behind the last. */
static void rotate(struct zr_batch *batch, size_t from)
{
    reverse(batch->at, from);
    reverse(batch->at + from, batch->count - from);
    reverse(batch->at, batch->count);
}

void zr_batch_share(struct zr_search *look)
{
    const struct zr_consumer *consumer = &zr_queue_of(&look->queue_task.znode_task.task)->consumer;
    struct zr_batch *batch = &look->batch;
    size_t most = strcmp(batch->lane->name, FIRST) > 0 ? FEW : BATCH;
    size_t own = own_items(batch, consumer->count, consumer->rank, most);
    if (own == 0)
        rotate(batch, batch->count * consumer->rank / consumer->count);
    batch->own = own > 0;
    batch->count = batch->own ? own : least(batch->count, most);
}

/* ---- The batch of the consumer ------------------------------------------------------------- */

bool zr_batch_has_next(const struct zr_queue *queue)
{
    const struct zr_consumer *consumer = &queue->consumer;
    return consumer->batch.next < consumer->batch.count &&
           zr_engine_now_us(queue->znode.session->engine) <= consumer->fresh_until_us;
}

void zr_batch_clear(struct zr_batch *batch)
{
    zr_free(batch->names);
    zr_free(batch->at);
    *batch = (struct zr_batch){.lane = NULL};
}

void zr_batch_adopt(struct zr_search *look)
{
    struct zr_consumer *consumer = &zr_queue_of(&look->queue_task.znode_task.task)->consumer;
    zr_batch_clear(&consumer->batch);
    consumer->batch = look->batch;
    look->batch = (struct zr_batch){.lane = NULL};
}
