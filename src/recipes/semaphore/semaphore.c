#include "recipes/semaphore/semaphore.h"

/*
 * The semaphore: the permits in use are never more than the limit. There is one directory; its data
 * are the limit. Each contender takes a seat in it, with its number of permits in the name. The
 * recipe is not on ZooKeeper's page; docs/recipes/semaphore.md argues why it is right.
 *
 * acquire.c has the steps, watch.c what a waiter watches, limit.c and resize.c the limit,
 * capacity.c the sums.
 */

struct semaphore_options {
    struct zr_bytes data;
    int64_t max_queue;
};

static const struct zr_option options[] = {
    {"data", 'd', offsetof(struct semaphore_options, data)},
    {"max_queue", 'c', offsetof(struct semaphore_options, max_queue)},
    {NULL, 0, 0},
};

static enum zr_status start_contenders(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task)
{
    return zr_contest_contenders(self, "semaphore:contenders", args, task);
}

static const struct zr_method methods[] = {
    {.name = "acquire", .args = "t?i?", .start = zr_semaphore_acquire},
    {.name = "available", .args = "t?", .start = zr_semaphore_available},
    {.name = "resize", .args = "it?", .start = zr_semaphore_resize},
    {.name = "cancel", .args = "", .call = zr_contest_cancel},
    {.name = "attempts", .args = "", .call = zr_contest_attempts},
    {.name = "contenders", .args = "t?", .start = start_contenders},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", zr_contest_get_path}, {"session", zr_contest_get_session}, {NULL, NULL}};

const struct zr_class zr_semaphore_class = {"semaphore", methods, properties, NULL,
                                            zr_contest_free};

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    const struct semaphore_options *given = args->options;
    const struct zr_arg *limit = &args->at[1];
    if (limit->given && limit->integer < 1) {
        args->misuse = "the limit must be at least 1";
        return ZR_OK;
    }
    enum zr_status status = zr_contest_new(sizeof(struct zr_semaphore), &zr_semaphore_class,
                                           session, args->at[0].bytes.at, given->data, object);
    if (status != ZR_OK)
        return status;
    struct zr_semaphore *semaphore = (struct zr_semaphore *)*object;
    semaphore->contest.max_queue = given->max_queue;
    if (limit->given)
        zr_limit_give(semaphore, limit->integer);
    return ZR_OK;
}

const struct zr_recipe zr_semaphore_recipe = {
    .name = "semaphore",
    .args = "pi?o?",
    .options = options,
    .options_size = sizeof(struct semaphore_options),
    .make = make,
    .stems = (const struct zr_stem *const[]){&zr_permits_stem, NULL},
};
