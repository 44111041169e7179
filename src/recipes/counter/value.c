#include <stdlib.h>

#include "core/alloc.h"
#include "recipes/counter/write.h"

/*
 * session:value(path), for recipes in Lua: writes any data to a znode, exactly once, as a counter
 * is written (write.c). The object is a counter, but for its class.
 *
 * value:put(data [, version [, czxid [, timeout]]])
 * 1. Without a version: the znode is made if it is missing, and set.
 * 2. With a version: it is set if it has this version. With a czxid it must also be the znode that
 *    was created then: the first time after a mark was made, the znode is read. As long as the mark
 *    exists, it is the same one.
 *
 * The results are true, and its stat unless the answer was lost; or false: the znode has another
 * version, is another one, or is missing, and nothing was done.
 *
 * What can go wrong: as with a counter. What was read is of another znode than the expected one:
 * that one may be newer, and the mark gone; read again.
 */

struct put {
    struct zr_write write;
    char *text; /* the data */
    size_t length;
    int32_t version;
    int64_t czxid; /* 0: any */
};

static struct put *put_of(struct zr_task *task)
{
    return ZR_HOLDER(zr_write_of(task), struct put, write);
}

static void put(struct zr_task *task)
{
    const struct put *put = put_of(task);
    const struct zr_mark *mark = zr_counter_of(task)->mark;
    bool same = put->czxid == 0 || put->czxid == mark->czxid;
    bool read = put->write.fresh && mark->czxid != 0;
    if (put->write.beaten || (read && !same))
        zr_write_differs(task);
    else if (!same)
        zr_write_refresh(task);
    else
        zr_write_data(task, (struct zr_bytes){put->text, put->length}, put->version);
}

static void emit(struct zr_task *task, struct zr_sink *sink)
{
    const struct zr_write *write = zr_write_of(task);
    sink->boolean(sink, NULL, !write->differs);
    if (write->stat.mzxid != 0)
        zr_emit_stat(sink, NULL, &write->stat);
}

static void free_put(struct zr_task *task)
{
    zr_free(put_of(task)->text);
    zr_write_free(task);
}

static const struct zr_task_kind kind = {.name = "value:put",
                                         .clean = zr_write_give_up,
                                         .asking = zr_write_asking,
                                         .results = emit,
                                         .free = free_put};

static enum zr_status start_put(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_write *write;
    enum zr_status status = zr_write_new(sizeof(struct put), self, put, &write);
    if (status != ZR_OK)
        return status;
    *task = &write->znode_task.task;
    struct put *put = put_of(*task);
    put->length = args->at[0].bytes.length;
    put->text = zr_copy(args->at[0].bytes.at, put->length);
    put->version = args->at[1].given ? (int32_t)args->at[1].integer : ZR_ANY_VERSION;
    if (args->at[2].given)
        put->czxid = (int64_t)strtoull(args->at[2].bytes.at, NULL, 16);
    write->raw = true;
    write->existing = put->version != ZR_ANY_VERSION;
    if (put->text == NULL) {
        free_put(*task);
        return ZR_NO_MEMORY;
    }
    zr_znode_task_start(&write->znode_task, &kind, &args->at[3], ZR_STEP(zr_write_begin));
    return ZR_OK;
}

static void free_value(struct zr_object *self)
{
    zr_counter_class.free(self);
}

static const struct zr_method methods[] = {
    {.name = "put", .args = "sv?s?t?", .start = start_put, .inner = true},
    {.name = NULL},
};

const struct zr_class zr_value_class = {"value", methods, NULL, NULL, free_value};

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    enum zr_status status = zr_counter_recipe.make(session, args, object);
    if (status == ZR_OK)
        (*object)->class = &zr_value_class;
    return status;
}

const struct zr_recipe zr_value_recipe = {
    .name = "value", .args = "p", .inner = true, .make = make};
