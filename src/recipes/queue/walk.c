#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/claims.h"

/*
 * queue:items(), queue:dead(): an object whose `next` gives one item after the other.
 * 1. List the lanes, once; the delayed items are behind them. Or there is one lane, the dead
 *    letters.
 * 2. List the buckets of a lane, then the items of a bucket; one lane and one bucket at a time.
 * 3. Read the next item; if its version says that it was claimed once, ask whether it is now.
 *
 * What can go wrong: a listed item is gone, or is none: read the next one. Several coroutines use
 * one walk: an answer is thrown away if the walk has gone on since its request was sent. A step
 * fails or is canceled: the walk has not gone on, so that the next one begins there again.
 */

struct walk {
    struct zr_object object;
    struct zr_queue *queue; /* counted */
    bool dead;
    uint64_t turn;   /* grows by one with each answer that is used */
    uint16_t *lanes; /* the priorities in use, in order; null: not known yet; ours */
    size_t lane_count, lane_at;
    struct zr_lane *lane; /* whose buckets these are ... */
    int64_t *buckets;     /* ... in order; ours */
    size_t bucket_count, bucket_at;
    int64_t bucket;         /* whose items these are ... */
    struct zr_names *names; /* ... ours */
    char **items;           /* ... in order; ours */
    size_t item_count, item_at;
};

struct step {
    struct zr_queue_task queue_task;
    struct walk *walk;     /* counted */
    uint64_t turn;         /* of the walk, when the request was sent */
    struct zr_claim *item; /* counted: that is read; or null */
    bool claimed;
};

static void next(struct zr_task *task);

static struct step *of(struct zr_task *task)
{
    return ZR_HOLDER(zr_queue_task_of(task), struct step, queue_task);
}

/* True if the answer can be used. Otherwise something else goes on. */
static bool fits(struct zr_task *task)
{
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return false;
    }
    if (of(task)->turn == of(task)->walk->turn)
        return true;
    next(task);
    return false;
}

/* True if the answer is used. Otherwise something else goes on. */
static bool use(struct zr_task *task)
{
    if (!fits(task))
        return false;
    of(task)->walk->turn++;
    return true;
}

static void next_or_fail(struct zr_task *task, bool known)
{
    if (known)
        next(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

/* ---- 3. An item ---------------------------------------------------------------------------- */

static void forget_item(struct step *step)
{
    if (step->item != NULL)
        zr_object_unref(&step->item->object);
    step->item = NULL;
}

static void claim_asked(struct zr_task *task)
{
    bool claimed = task->outcome == ZR_OK;
    if (!use(task))
        return;
    of(task)->walk->item_at++;
    of(task)->claimed = claimed;
    zr_task_finish(task, ZR_OK);
}

static void item_read(struct zr_task *task)
{
    struct step *step = of(task);
    struct zr_request *answer = &task->call->request;
    if (!fits(task))
        return;
    step->item->data = (char *)answer->data_reply.at;
    bool readable = task->outcome == ZR_OK && zr_item_read(answer->data_reply, &step->item->entry);
    answer->data_reply = ZR_NO_DATA;
    if (readable && answer->stat.version > 0) {
        zr_queue_read(task, ZR_OP_EXISTS, step->item->claimed, "", ZR_STEP(claim_asked));
        return;
    }
    step->walk->turn++;
    step->walk->item_at++;
    if (readable)
        zr_task_finish(task, ZR_OK);
    else
        next(task);
}

static void read_item(struct zr_task *task)
{
    struct step *step = of(task);
    const struct walk *walk = step->walk;
    step->item = zr_claim_new(walk->queue, walk->lane, walk->bucket, walk->items[walk->item_at]);
    if (step->item != NULL)
        zr_queue_read(task, ZR_OP_GET, step->item->path, "", ZR_STEP(item_read));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

/* ---- 2. Buckets ---------------------------------------------------------------------------- */

static void bucket_listed(struct zr_task *task)
{
    struct walk *walk = of(task)->walk;
    if (!use(task))
        return;
    bool delayed = !walk->dead && walk->lane_at > walk->lane_count;
    walk->bucket = walk->buckets[walk->bucket_at];
    zr_free(walk->names);
    zr_free(walk->items);
    walk->names = zr_take_names(task);
    walk->items = zr_items_in_order(walk->queue, walk->names, delayed, &walk->item_count);
    walk->item_at = 0;
    walk->bucket_at += walk->items != NULL;
    next_or_fail(task, walk->items != NULL);
}

static void list_bucket(struct zr_task *task)
{
    const struct walk *walk = of(task)->walk;
    char name[ZR_BUCKET_NAME];
    zr_queue_read(task, ZR_OP_CHILDREN, walk->lane->path,
                  zr_bucket_name(walk->buckets[walk->bucket_at], name), ZR_STEP(bucket_listed));
}

static void buckets_listed(struct zr_task *task)
{
    struct walk *walk = of(task)->walk;
    if (!use(task))
        return;
    struct zr_names *names = zr_take_names(task);
    zr_free(walk->buckets);
    walk->buckets = zr_buckets_in_order(names, &walk->bucket_count);
    walk->bucket_at = 0;
    walk->lane_at += walk->buckets != NULL;
    zr_free(names);
    next_or_fail(task, walk->buckets != NULL);
}

/* ---- 1. Lanes ------------------------------------------------------------------------------ */

static void list_lane(struct zr_task *task)
{
    struct walk *walk = of(task)->walk;
    char name[ZR_LANE_NAME];
    if (walk->lane_at < walk->lane_count)
        zr_lane_name(walk->lanes[walk->lane_at], name);
    walk->lane = zr_queue_lane(walk->queue, walk->lane_at < walk->lane_count ? name
                                            : walk->dead                     ? "dead"
                                                                             : "later");
    if (walk->lane != NULL)
        zr_queue_read(task, ZR_OP_CHILDREN, walk->lane->path, "", ZR_STEP(buckets_listed));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void lanes_listed(struct zr_task *task)
{
    struct walk *walk = of(task)->walk;
    struct zr_queue_task *lanes = zr_queue_task_of(task);
    const struct zr_names *names = task->outcome == ZR_OK ? task->call->request.names : NULL;
    if (!use(task))
        return;
    zr_free(lanes->lanes);
    lanes->lane_count = 0;
    bool known = zr_lanes_in_order(lanes, names) == ZR_OK;
    walk->lanes = lanes->lanes;
    walk->lane_count = lanes->lane_count;
    lanes->lanes = NULL;
    next_or_fail(task, known);
}

static void next(struct zr_task *task)
{
    struct step *step = of(task);
    const struct walk *walk = step->walk;
    forget_item(step);
    step->turn = walk->turn;
    if (walk->item_at < walk->item_count)
        read_item(task);
    else if (walk->bucket_at < walk->bucket_count)
        list_bucket(task);
    else if (!walk->dead && walk->lanes == NULL)
        zr_queue_read(task, ZR_OP_CHILDREN, walk->queue->znode.path, "/lanes",
                      ZR_STEP(lanes_listed));
    else if (walk->lane_at <= walk->lane_count)
        list_lane(task);
    else
        zr_task_finish(task, ZR_OK);
}

/* ---- The task ------------------------------------------------------------------------------ */

static void emit(struct zr_task *task, struct zr_sink *sink)
{
    const struct zr_claim *item = of(task)->item;
    if (item == NULL) {
        sink->nothing(sink, NULL);
        return;
    }
    sink->begin(sink, NULL);
    zr_item_emit(item, sink);
    sink->boolean(sink, "claimed", of(task)->claimed);
    if (strcmp(item->lane->name, "later") == 0)
        sink->integer(sink, "due", zr_item_due(item->name));
    sink->end(sink);
}

static void free_step(struct zr_task *task)
{
    struct zr_object *walk = &of(task)->walk->object;
    forget_item(of(task));
    zr_queue_task_free(task);
    zr_object_unref(walk);
}

/* It has no limit of the caller. */
static bool asking(const struct zr_task *task)
{
    (void)task;
    return true;
}

#define KIND(called)                                                                               \
    {                                                                                              \
        .name = (called), .asking = asking, .results = emit, .free = free_step                     \
    }
static const struct zr_task_kind items_kind = KIND("queue:items");
static const struct zr_task_kind dead_kind = KIND("queue:dead");

/* next(): the next item, or nil. */
static enum zr_status start_next(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    struct walk *walk = (struct walk *)self;
    struct zr_znode_task *znode_task;
    (void)args;
    enum zr_status status =
        zr_znode_task_new(sizeof(struct step), &walk->queue->znode.object, &znode_task);
    if (status != ZR_OK)
        return status;
    struct zr_arg limit = {.given = true,
                           .integer = zr_session_patience_us(znode_task->znode->session)};
    *task = &znode_task->task;
    of(*task)->walk = (struct walk *)zr_object_ref(self);
    zr_znode_task_start(znode_task, walk->dead ? &dead_kind : &items_kind, &limit, ZR_STEP(next));
    return ZR_OK;
}

/* ---- The walk ------------------------------------------------------------------------------ */

static void free_walk(struct zr_object *self)
{
    struct walk *walk = (struct walk *)self;
    struct zr_object *queue = &walk->queue->znode.object;
    zr_free(walk->lanes);
    zr_free(walk->buckets);
    zr_free(walk->names);
    zr_free(walk->items);
    zr_free(walk);
    zr_object_unref(queue);
}

static const struct zr_method methods[] = {
    {.name = "next", .args = "", .start = start_next, .inner = true}, {.name = NULL}};

static const struct zr_property properties[] = {{NULL, NULL}};

const struct zr_class zr_walk_class = {"walk", methods, properties, NULL, free_walk};

enum zr_status zr_queue_make_walk(struct zr_object *self, struct zr_args *args,
                                  struct zr_object **object)
{
    struct walk *walk = zr_alloc(sizeof(*walk));
    if (walk == NULL)
        return ZR_NO_MEMORY;
    walk->object = (struct zr_object){&zr_walk_class, 1};
    walk->queue = (struct zr_queue *)zr_object_ref(self);
    walk->dead = args->at[0].given;
    *object = &walk->object;
    return ZR_OK;
}
