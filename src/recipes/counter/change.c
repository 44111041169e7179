#include <inttypes.h>

#include "recipes/counter/write.h"

/*
 * What the methods write: `add` the sum, `set` its value, `compare_and_set` its value if the
 * counter has the expected one. The first step of each decides that, and runs again whenever the
 * counter was read again.
 *
 * A value that an earlier call of this process has left is good enough for a write, because the
 * write is refused if it is old. To fail for a value, it must be fresh.
 */

/* ---- What to write ------------------------------------------------------------------------- */

/* After 2^32 writes the version is -1, which to ZooKeeper means any: nothing would keep two clients
   apart. */
static void write_known(struct zr_task *task, int64_t value)
{
    const struct zr_counter *counter = zr_counter_of(task);
    if (counter->version != ZR_ANY_VERSION) {
        zr_write_value(task, value, counter->version);
        return;
    }
    task->detail = "its znode was written 2^32 times and has version -1, with which ZooKeeper "
                   "cannot compare; call set once";
    zr_verb_fail(task, ZR_BAD_VERSION);
}

static void add(struct zr_task *task)
{
    if (!zr_counter_of(task)->known) {
        zr_write_refresh(task);
        return;
    }
    int64_t now = zr_counter_of(task)->value, sum = now + zr_write_of(task)->amount;
    if (sum >= -ZR_COUNTER_MAX && sum <= ZR_COUNTER_MAX) {
        write_known(task, sum);
    } else if (!zr_write_of(task)->fresh) {
        zr_write_refresh(task);
    } else {
        zr_task_explain(
            task, "it holds %" PRId64 ", so the sum would not be a number from -2^53 to 2^53", now);
        zr_verb_fail(task, ZR_FULL);
    }
}

static void compare(struct zr_task *task)
{
    if (!zr_counter_of(task)->known) {
        zr_write_refresh(task);
        return;
    }
    int64_t now = zr_counter_of(task)->value;
    if (now == zr_write_of(task)->expected) {
        write_known(task, zr_write_of(task)->amount);
    } else if (!zr_write_of(task)->fresh) {
        zr_write_refresh(task);
    } else {
        zr_write_of(task)->value = now;
        zr_write_differs(task);
    }
}

static void set(struct zr_task *task)
{
    zr_write_value(task, zr_write_of(task)->amount, ZR_ANY_VERSION);
}

/* ---- The methods --------------------------------------------------------------------------- */

static void emit_value(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, zr_write_of(task)->value);
}

static void emit_compared(struct zr_task *task, struct zr_sink *sink)
{
    sink->boolean(sink, NULL, !zr_write_of(task)->differs);
    if (zr_write_of(task)->differs)
        sink->integer(sink, NULL, zr_write_of(task)->value);
}

#define KIND(called, emit)                                                                         \
    {                                                                                              \
        .name = (called), .clean = zr_write_give_up, .asking = zr_write_asking, .results = (emit), \
        .free = zr_write_free                                                                      \
    }
static const struct zr_task_kind add_kind = KIND("counter:add", emit_value);
static const struct zr_task_kind set_kind = KIND("counter:set", zr_emit_true);
static const struct zr_task_kind compare_kind = KIND("counter:compare_and_set", emit_compared);

static enum zr_status start(struct zr_object *self, const struct zr_args *args,
                            const struct zr_task_kind *kind, zr_step *decide, struct zr_task **task)
{
    struct zr_write *write;
    const struct zr_arg limit = zr_counter_limit(args);
    enum zr_status status = zr_write_new(sizeof(*write), self, decide, &write);
    if (status != ZR_OK)
        return status;
    write->amount = args->at[0].integer;
    if (decide == compare) {
        write->expected = args->at[0].integer;
        write->amount = args->at[1].integer;
    }
    *task = &write->znode_task.task;
    zr_znode_task_start(&write->znode_task, kind, &limit, ZR_STEP(zr_write_begin));
    return ZR_OK;
}

enum zr_status zr_counter_add(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return start(self, args, &add_kind, add, task);
}

enum zr_status zr_counter_set(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return start(self, args, &set_kind, set, task);
}

enum zr_status zr_counter_compare(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    return start(self, args, &compare_kind, compare, task);
}
