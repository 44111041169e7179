#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "recipes/queue/put.h"

/*
 * A bucket has as many items as it should have: seal it, make the next one, write its number into
 * the lane, and tell consumers, which watch the last bucket of a priority; in the background,
 * because the put is done.
 *
 * What can go wrong: another process was faster: the transaction is refused. It is lost, or memory
 * is exhausted: the next put into this bucket does it.
 */

struct roll {
    struct zr_task task;
    struct zr_call *call; /* until it is sent; or null */
};

static struct roll *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct roll, task);
}

static void sent(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

static void send(struct zr_task *task)
{
    struct zr_call *call = of(task)->call;
    of(task)->call = NULL;
    if (call != NULL)
        zr_verb_request(task, call, false, ZR_STEP(sent));
    else
        zr_task_finish(task, ZR_OK);
}

static void free_roll(struct zr_task *task)
{
    zr_call_free(of(task)->call);
    zr_free(of(task));
}

static const struct zr_task_kind kind = {.name = "queue:roll", .clean = send, .free = free_roll};

static char *join(const char *path, const char *more)
{
    size_t size = strlen(path) + strlen(more) + 1;
    char *joined = zr_alloc(size);
    if (joined != NULL)
        snprintf(joined, size, "%s%s", path, more);
    return joined;
}

static struct zr_call *new_call(struct zr_session *session, const struct zr_lane *lane,
                                int64_t number)
{
    char name[ZR_BUCKET_NAME], next[24];
    char *full = join(lane->path, zr_bucket_name(number, name));
    char *following = join(lane->path, zr_bucket_name(number + 1, name));
    char *in = join(lane->path, "/in");
    struct zr_call *call = NULL;
    snprintf(next, sizeof(next), "%" PRId64, number + 1);
    const struct zr_request parts[] = {
        {.op = ZR_OP_SET, .path = full, .data = {"", 0}, .version = 0},
        {.op = ZR_OP_CREATE, .path = following, .data = {"", 0}},
        {.op = ZR_OP_SET, .path = lane->path, .data = {next, strlen(next)}, .version = -1},
        {.op = ZR_OP_SET, .path = in, .data = {"", 0}, .version = -1},
    };
    size_t count = zr_lane_priority(lane->name) >= 0 ? 4 : 3; /* the `in` of others counts items */
    if (full != NULL && following != NULL && in != NULL &&
        zr_call_new_multi(session, NULL, parts, count, &call) != ZR_OK)
        call = NULL;
    zr_free(full);
    zr_free(following);
    zr_free(in);
    return call;
}

void zr_lane_roll(struct zr_queue *queue, struct zr_lane *lane, int64_t number)
{
    struct zr_session *session = queue->znode.session;
    if (lane->tail != number)
        return;
    struct roll *roll = zr_alloc(sizeof(*roll));
    if (roll == NULL)
        return;
    roll->call = new_call(session, lane, number);
    if (roll->call == NULL) {
        zr_free(roll);
        return;
    }
    zr_task_start_cleaning(&roll->task, &kind, session);
    zr_lane_set_tail(lane, number + 1); /* what is sent from now on comes behind that request */
}
