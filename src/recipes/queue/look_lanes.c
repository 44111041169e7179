#include <stdlib.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/queue/claims.h"

/*
 * The first part of a look for items (look.c): lists the lanes, and goes through them, the most
 * urgent first. A process that watches what comes in leaves a watch on the list, and on each lane's
 * `in`, before it looks into the lane.
 *
 * What can go wrong: there is no list yet, and a listing leaves no watch then: watch whether it is
 * made.
 */

static void lane_watched(struct zr_task *task)
{
    if (zr_search_answered(task))
        zr_search_lane(task, zr_search_of(task)->lane);
}

void zr_search_next_lane(struct zr_task *task)
{
    struct zr_search *look = zr_search_of(task);
    struct zr_queue_task *lanes = &look->queue_task;
    char name[ZR_LANE_NAME];
    if (lanes->at == lanes->lane_count) {
        look->found(task);
        return;
    }
    look->lane = zr_queue_lane(zr_queue_of(task), zr_lane_name(lanes->lanes[lanes->at], name));
    if (look->lane == NULL)
        zr_verb_fail(task, ZR_NO_MEMORY);
    else if (look->watches && !look->lane->in.stands)
        zr_lookout_read(task, &look->lane->in, ZR_OP_EXISTS, look->lane->path, "/in",
                        ZR_STEP(lane_watched));
    else
        zr_search_lane(task, look->lane);
}

static int by_priority(const void *one, const void *other)
{
    return *(const uint16_t *)one - *(const uint16_t *)other;
}

enum zr_status zr_lanes_in_order(struct zr_queue_task *lanes, const struct zr_names *names)
{
    size_t count = names != NULL ? names->count : 0;
    lanes->lanes = zr_alloc((count + 1) * sizeof(lanes->lanes[0]));
    if (lanes->lanes == NULL)
        return ZR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (zr_lane_priority(names->at[i]) >= 0)
            lanes->lanes[lanes->lane_count++] = (uint16_t)zr_lane_priority(names->at[i]);
    qsort(lanes->lanes, lanes->lane_count, sizeof(lanes->lanes[0]), by_priority);
    return ZR_OK;
}

static void list_lanes(struct zr_task *task);

/* It was made meanwhile: this read has left a watch on the znode, not on its children. */
static void existence_read(struct zr_task *task)
{
    if (task->outcome == ZR_OK) {
        zr_queue_of(task)->consumer.lanes.stands = false;
        list_lanes(task);
    } else if (zr_search_answered(task)) {
        zr_search_next_lane(task);
    }
}

/* A listing leaves no watch if there is nothing to list. */
static void no_lanes(struct zr_task *task)
{
    struct zr_queue *queue = zr_queue_of(task);
    struct zr_lookout *lookout = &queue->consumer.lanes;
    lookout->stands = false;
    if (zr_search_of(task)->watches)
        zr_lookout_read(task, lookout, ZR_OP_EXISTS, queue->znode.path, "/lanes",
                        ZR_STEP(existence_read));
    else
        zr_search_next_lane(task);
}

static void lanes_listed(struct zr_task *task)
{
    if (!zr_search_answered(task))
        return;
    if (task->outcome == ZR_NO_NODE) {
        no_lanes(task);
        return;
    }
    if (zr_lanes_in_order(zr_queue_task_of(task), task->call->request.names) == ZR_OK)
        zr_search_next_lane(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void list_lanes(struct zr_task *task)
{
    struct zr_queue *queue = zr_queue_of(task);
    const char *root = queue->znode.path;
    if (zr_search_of(task)->watches)
        zr_lookout_read(task, &queue->consumer.lanes, ZR_OP_CHILDREN, root, "/lanes",
                        ZR_STEP(lanes_listed));
    else
        zr_queue_read(task, ZR_OP_CHILDREN, root, "/lanes", ZR_STEP(lanes_listed));
}

void zr_search_begin(struct zr_search *look, struct zr_task *task)
{
    struct zr_queue_task *lanes = &look->queue_task;
    zr_batch_clear(&look->batch);
    zr_free(look->claimed);
    look->claimed = NULL;
    zr_free(lanes->lanes);
    lanes->lanes = NULL;
    lanes->lane_count = lanes->at = 0;
    list_lanes(task);
}
