#include "recipes/worker_id/worker_id.h"

#include "core/alloc.h"
#include "core/names.h"

/*
 * Numbers for workers: each holder has a number below the max for itself. The znode of number 7 is
 * "7" in the directory; it is ephemeral, so the number is free again when its holder is gone. Those
 * that wait queue up in the directory "queue" beside the numbers.
 *
 * acquire.c has the steps, and argues why no waiter is forgotten; numbers.c finds a free number.
 * The recipe is not on ZooKeeper's page. A number is an unfair lock (unfair.c) that is chosen among
 * several; the queue is that of the lock (contest.c).
 */

struct worker_id_options {
    struct zr_bytes data;
};

static const struct zr_option options[] = {
    {"data", 'd', offsetof(struct worker_id_options, data)},
    {NULL, 0, 0},
};

static const struct zr_method methods[] = {
    {.name = "acquire", .args = "t?", .start = zr_worker_id_acquire},
    {.name = "cancel", .args = "", .call = zr_contest_cancel},
    {.name = "attempts", .args = "", .call = zr_contest_attempts},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", zr_contest_get_path}, {"session", zr_contest_get_session}, {NULL, NULL}};

static void free_ids(struct zr_object *self)
{
    zr_free(((struct zr_worker_id *)self)->queue);
    zr_contest_free(self);
}

const struct zr_class zr_worker_id_class = {"worker_id", methods, properties, NULL, free_ids};

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    const struct worker_id_options *given = args->options;
    if (args->at[1].integer < 1) {
        args->misuse = "the number of numbers must be at least 1";
        return ZR_OK;
    }
    enum zr_status status = zr_contest_new(sizeof(struct zr_worker_id), &zr_worker_id_class,
                                           session, args->at[0].bytes.at, given->data, object);
    if (status != ZR_OK)
        return status;
    struct zr_worker_id *ids = (struct zr_worker_id *)*object;
    ids->max = (int32_t)args->at[1].integer;
    ids->queue = zr_path_child(ids->contest.dir, "queue");
    if (ids->queue != NULL)
        return ZR_OK;
    zr_object_unref(*object);
    return ZR_NO_MEMORY;
}

const struct zr_recipe zr_worker_id_recipe = {
    .name = "worker_id",
    .args = "pio?",
    .options = options,
    .options_size = sizeof(struct worker_id_options),
    .make = make,
    .stems = (const struct zr_stem *const[]){&zr_turn_stem, NULL},
};
