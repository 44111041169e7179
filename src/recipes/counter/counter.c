#include "recipes/counter/counter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A counter: a znode that holds a whole number as decimal text, so that other clients can read it.
 * `get` is one read. How a write is done exactly once is in write.c.
 */

/* ---- The text ------------------------------------------------------------------------------ */

static bool parse(struct zr_bytes data, int64_t *value)
{
    char text[ZR_COUNTER_DIGITS];
    size_t sign = data.length > 0 && data.at[0] == '-';
    if (data.length == sign || data.length >= sizeof(text))
        return false;
    for (size_t i = sign; i < data.length; i++)
        if (data.at[i] < '0' || data.at[i] > '9')
            return false;
    memcpy(text, data.at, data.length);
    text[data.length] = '\0';
    *value = strtoll(text, NULL, 10);
    return *value >= -ZR_COUNTER_MAX && *value <= ZR_COUNTER_MAX;
}

static void explain(struct zr_task *task, struct zr_bytes data)
{
    char shown[33];
    size_t length = 0;
    for (; length < sizeof(shown) - 1 && length < data.length; length++) {
        char byte = data.at[length];
        shown[length] = byte >= ' ' && byte <= '~' ? byte : '?';
    }
    shown[length] = '\0';
    zr_task_explain(task,
                    "it holds \"%s%s\", which is no whole number from -2^53 to 2^53; set replaces "
                    "it",
                    shown, length < data.length ? "..." : "");
}

/* kazoo makes the znodes of its counters without data. */
enum zr_status zr_counter_read(struct zr_task *task, const struct zr_request *answer,
                               int64_t *value)
{
    *value = 0;
    if (answer->status == ZR_NO_NODE || answer->data_reply.length == 0 ||
        parse(answer->data_reply, value))
        return ZR_OK;
    explain(task, answer->data_reply);
    return ZR_CONFLICT;
}

/* ---- get ----------------------------------------------------------------------------------- */

struct get {
    struct zr_znode_task znode_task;
    int64_t value;
};

static struct get *get_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_znode_task_of(task), struct get, znode_task);
}

static void got(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (status == ZR_OK || status == ZR_NO_NODE)
        status = zr_counter_read(task, &task->call->request, &get_of(task)->value);
    zr_task_finish(task, status);
}

static void get(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_GET, zr_znode_of(task)->full, false, ZR_STEP(got));
}

static void get_results(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, get_of(task)->value);
}

static const struct zr_task_kind get_kind = {
    .name = "counter:get", .results = get_results, .free = zr_znode_task_free};

struct zr_arg zr_counter_limit(const struct zr_args *args)
{
    int64_t timeout_us = ((const struct zr_counter_options *)args->options)->timeout_us;
    return (struct zr_arg){.given = timeout_us >= 0, .integer = timeout_us};
}

static enum zr_status start_get(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    const struct zr_arg limit = zr_counter_limit(args);
    enum zr_status status = zr_znode_task_new(sizeof(struct get), self, &znode_task);
    if (status != ZR_OK)
        return status;
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, &get_kind, &limit, ZR_STEP(get));
    return ZR_OK;
}

/* ---- The class ----------------------------------------------------------------------------- */

static void free_counter(struct zr_object *self)
{
    struct zr_counter *counter = (struct zr_counter *)self;
    zr_mark_drop(counter->mark, counter->znode.session);
    zr_znode_free(self);
}

static const struct zr_option options[] = {
    {"timeout", 't', offsetof(struct zr_counter_options, timeout_us)}, {NULL, 0, 0}};

#define OPTIONS .options = options, .options_size = sizeof(struct zr_counter_options)

static const struct zr_method methods[] = {
    {.name = "add", .args = "wo?", OPTIONS, .start = zr_counter_add},
    {.name = "get", .args = "o?", OPTIONS, .start = start_get},
    {.name = "set", .args = "wo?", OPTIONS, .start = zr_counter_set},
    {.name = "compare_and_set", .args = "wwo?", OPTIONS, .start = zr_counter_compare},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", zr_znode_get_path}, {"session", zr_znode_get_session}, {NULL, NULL}};

const struct zr_class zr_counter_class = {"counter", methods, properties, NULL, free_counter};

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    enum zr_status status =
        zr_znode_new(sizeof(struct zr_counter), &zr_counter_class, session, args, object);
    if (status == ZR_OK)
        zr_signal_init(&((struct zr_counter *)*object)->turn);
    return status;
}

const struct zr_recipe zr_counter_recipe = {.name = "counter", .args = "p", .make = make};
