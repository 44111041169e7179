#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * An item that was claimed (work.c), or that is looked at: where it is, and what it holds. What
 * becomes of it: finish.c (ack, nack), let_go.c.
 */

/* ---- Making and freeing -------------------------------------------------------------------- */

struct zr_claim *zr_claim_new(struct zr_queue *queue, struct zr_lane *lane, int64_t bucket,
                              const char *name)
{
    const char *root = queue->znode.path;
    char number[ZR_BUCKET_NAME];
    size_t path = strlen(lane->path) + ZR_BUCKET_NAME + strlen(name) + 2;
    size_t claimed = strlen(root) + ZR_LANE_NAME + ZR_BUCKET_NAME + strlen(name) + 16;
    struct zr_claim *claim = zr_alloc(sizeof(*claim) + path + claimed);
    if (claim == NULL)
        return NULL;
    char *at = claim->room;
    claim->object = (struct zr_object){&zr_claim_class, 1};
    claim->queue = queue;
    zr_object_ref(&queue->znode.object);
    claim->lane = lane;
    claim->bucket = bucket;
    claim->errand.queue = queue;
    claim->path = at;
    at += sprintf(at, "%s%s/", lane->path, zr_bucket_name(bucket, number));
    claim->name = at;
    at += sprintf(at, "%s", name) + 1;
    claim->claimed = at;
    sprintf(at, "%s/claims/%s.%010" PRId64 ".%s", root, lane->name, bucket, name);
    return claim;
}

static void free_claim(struct zr_object *self)
{
    struct zr_claim *claim = (struct zr_claim *)self;
    struct zr_queue *queue = claim->queue;
    zr_errand_fini(&claim->errand);
    zr_call_free(claim->read);
    zr_free(claim->text);
    zr_free(claim->data);
    zr_free(claim);
    zr_object_unref(&queue->znode.object);
}

void zr_claim_count(struct zr_claim *claim)
{
    claim->counted = true;
    claim->queue->consumer.claims++;
}

void zr_claim_end(struct zr_claim *claim, enum zr_claim_state end)
{
    if (claim->end != ZR_CLAIM_LIVES)
        return; /* what ended it first counts */
    claim->end = end;
    if (claim->counted)
        claim->queue->consumer.claims--;
    claim->counted = false;
    zr_free(claim->data);
    claim->data = NULL;
    claim->entry.data = claim->entry.claimant = (struct zr_bytes){"", 0};
    zr_attend_leave_if_unused(claim->queue); /* it may have been collected with the queue */
}

/* ---- What all moves need ------------------------------------------------------------------- */

enum zr_status zr_claim_move(const struct zr_claim *claim, struct zr_append_options *options,
                             struct zr_move_room *room)
{
    const char *lane = claim->lane->path;
    bool counted = zr_lane_priority(claim->lane->name) < 0;
    size_t length = strlen(lane);
    room->paths = zr_alloc(2 * length + 16);
    if (room->paths == NULL)
        return ZR_NO_MEMORY;
    char *out = room->paths, *in = out + length + 8;
    strcat(strcpy(out, lane), "/out");
    strcat(strcpy(in, lane), "/in");
    zr_item_tag(claim->name, room->tag);
    options->from = (struct zr_bytes){claim->path, strlen(claim->path)};
    if (counted)
        options->out = (struct zr_bytes){out, strlen(out)};
    options->put_count = (struct zr_bytes){in, strlen(in)};
    options->tag = (struct zr_bytes){room->tag, strlen(room->tag)};
    options->claim = (struct zr_bytes){claim->claimed, strlen(claim->claimed)};
    options->version = claim->version;
    options->priority = claim->entry.priority;
    options->id = zr_entry_id(&claim->entry);
    return ZR_OK;
}

/* ---- The class ----------------------------------------------------------------------------- */

static void forget(struct zr_object *self)
{
    zr_claim_let_go((struct zr_claim *)self);
}

static enum zr_status call_let_go(struct zr_object *self, struct zr_args *args,
                                  struct zr_sink *sink)
{
    (void)args;
    (void)sink;
    zr_claim_let_go((struct zr_claim *)self);
    return ZR_OK;
}

static void emit_values(const struct zr_claim *claim, struct zr_sink *sink,
                        const char *const keys[5])
{
    sink->bytes(sink, keys[0], claim->entry.data);
    sink->bytes(sink, keys[1], zr_entry_id(&claim->entry));
    sink->integer(sink, keys[2], claim->entry.attempts);
    sink->integer(sink, keys[3], claim->entry.priority);
    zr_emit_string(sink, keys[4], claim->path);
}

void zr_item_emit(const struct zr_claim *claim, struct zr_sink *sink)
{
    static const char *const keys[5] = {"data", "id", "attempts", "priority", "path"};
    emit_values(claim, sink, keys);
}

void zr_claim_emit(struct zr_claim *claim, struct zr_sink *sink)
{
    static const char *const keys[5] = {NULL};
    if (claim->taken)
        sink->nothing(sink, NULL);
    else
        sink->object(sink, NULL, &claim->object);
    emit_values(claim, sink, keys);
}

static void get_path(struct zr_object *self, struct zr_sink *sink)
{
    zr_emit_string(sink, NULL, ((struct zr_claim *)self)->path);
}

static void get_claim(struct zr_object *self, struct zr_sink *sink)
{
    zr_emit_string(sink, NULL, ((struct zr_claim *)self)->claimed);
}

/* How it has ended for its caller: nil while it has not. */
static void get_over(struct zr_object *self, struct zr_sink *sink)
{
    static const char *const words[] = {NULL, "acked", "nacked", "lost"};
    const char *word = words[((struct zr_claim *)self)->end];
    if (word != NULL)
        zr_emit_string(sink, NULL, word);
    else
        sink->nothing(sink, NULL);
}

static const struct zr_method methods[] = {
    {.name = "ack", .args = "", .start = zr_claim_start_ack, .inner = true},
    {.name = "nack", .args = "t", .start = zr_claim_start_nack, .inner = true},
    {.name = "let_go", .args = "", .call = call_let_go, .inner = true},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", get_path}, {"claim", get_claim}, {"over", get_over}, {NULL, NULL}};

const struct zr_class zr_claim_class = {"claim", methods, properties, forget, free_claim};
