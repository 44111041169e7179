#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/queue.h"

/*
 * How many items there are: in the lane of each priority, those in its buckets (census.c); in
 * `later` and `dead`, the changes of `in` less those of `out`. They are read one after the other,
 * so an item that is moved to another lane meanwhile may be missed, or counted twice. `out` is read
 * before `in`, so that the difference is never negative.
 *
 * What can go wrong: a lane does not exist yet: it has no items.
 */

struct zr_queue *zr_queue_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_of(task), struct zr_queue, znode);
}

struct zr_queue_task *zr_queue_task_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_task_of(task), struct zr_queue_task, znode_task);
}

void zr_queue_task_free(struct zr_task *task)
{
    zr_free(zr_queue_task_of(task)->lanes);
    zr_census_free(zr_queue_task_of(task)->census);
    zr_znode_task_free(task);
}

/* ---- One lane ------------------------------------------------------------------------------ */

static void next_lane(struct zr_task *task);

void zr_count_next_lane(struct zr_task *task)
{
    zr_queue_task_of(task)->at++;
    next_lane(task);
}

static void count(struct zr_task *task, int64_t items)
{
    zr_queue_task_of(task)->sum += items;
    zr_count_next_lane(task);
}

/* A version wraps around. */
static void in_counted(struct zr_task *task)
{
    uint32_t out = (uint32_t)zr_queue_task_of(task)->out;
    if (task->outcome == ZR_OK)
        count(task, (uint32_t)task->call->request.stat.version - out);
    else if (task->outcome == ZR_NO_NODE)
        count(task, 0);
    else
        zr_verb_fail(task, task->outcome);
}

static void read_counter(struct zr_task *task, const char *name, struct zr_next next)
{
    bool dead = zr_queue_task_of(task)->lanes == NULL; /* of dead_size */
    struct zr_lane *lane = zr_queue_lane(zr_queue_of(task), dead ? "dead" : "later");
    if (lane != NULL)
        zr_queue_read(task, ZR_OP_EXISTS, lane->path, name, next);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void out_counted(struct zr_task *task)
{
    if (task->outcome == ZR_OK) {
        zr_queue_task_of(task)->out = task->call->request.stat.version;
        read_counter(task, "/in", ZR_STEP(in_counted));
    } else if (task->outcome == ZR_NO_NODE) {
        count(task, 0);
    } else {
        zr_verb_fail(task, task->outcome);
    }
}

static void count_lane(struct zr_task *task, uint16_t priority)
{
    char name[ZR_LANE_NAME];
    struct zr_lane *lane = zr_queue_lane(zr_queue_of(task), zr_lane_name(priority, name));
    if (lane != NULL)
        zr_census_take(task, lane);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void next_lane(struct zr_task *task)
{
    const struct zr_queue_task *counts = zr_queue_task_of(task);
    if (counts->at < counts->lane_count)
        count_lane(task, counts->lanes[counts->at]);
    else if (counts->at == counts->lane_count)
        read_counter(task, "/out", ZR_STEP(out_counted));
    else
        counts->counted(task);
}

/* ---- All lanes ----------------------------------------------------------------------------- */

static void listed(struct zr_task *task)
{
    struct zr_queue_task *counts = zr_queue_task_of(task);
    const struct zr_names *names = task->outcome == ZR_OK ? task->call->request.names : NULL;
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    size_t count = names != NULL ? names->count : 0;
    counts->lanes = zr_alloc((count + 1) * sizeof(counts->lanes[0]));
    if (counts->lanes == NULL) {
        zr_verb_fail(task, ZR_NO_MEMORY);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (zr_lane_priority(names->at[i]) >= 0)
            counts->lanes[counts->lane_count++] = (uint16_t)zr_lane_priority(names->at[i]);
    next_lane(task);
}

void zr_count_items(struct zr_task *task, void (*counted)(struct zr_task *task))
{
    struct zr_queue_task *counts = zr_queue_task_of(task);
    zr_free(counts->lanes);
    counts->lanes = NULL;
    counts->sum = 0;
    counts->lane_count = counts->at = 0;
    counts->counted = counted;
    zr_queue_read(task, ZR_OP_CHILDREN, zr_queue_of(task)->znode.path, "/lanes", ZR_STEP(listed));
}

/* ---- The methods --------------------------------------------------------------------------- */

static void finish(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

static void count_all(struct zr_task *task)
{
    zr_count_items(task, finish);
}

static void count_dead(struct zr_task *task)
{
    zr_queue_task_of(task)->counted = finish;
    next_lane(task);
}

static void emit_sum(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, zr_queue_task_of(task)->sum);
}

static const struct zr_task_kind size_kind = {
    .name = "queue:size", .results = emit_sum, .free = zr_queue_task_free};
static const struct zr_task_kind dead_size_kind = {
    .name = "queue:dead_size", .results = emit_sum, .free = zr_queue_task_free};

static enum zr_status start(struct zr_object *self, const struct zr_arg *limit,
                            const struct zr_task_kind *kind, struct zr_next first,
                            struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    enum zr_status status = zr_znode_task_new(sizeof(struct zr_queue_task), self, &znode_task);
    if (status != ZR_OK)
        return status;
    const struct zr_session *session = znode_task->znode->session;
    struct zr_arg us = {.given = true, .integer = zr_session_limit_us(session, limit)};
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, kind, &us, first);
    return ZR_OK;
}

enum zr_status zr_queue_start_size(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task)
{
    return start(self, &args->at[0], &size_kind, ZR_STEP(count_all), task);
}

enum zr_status zr_queue_start_dead_size(struct zr_object *self, struct zr_args *args,
                                        struct zr_task **task)
{
    return start(self, &args->at[0], &dead_size_kind, ZR_STEP(count_dead), task);
}
