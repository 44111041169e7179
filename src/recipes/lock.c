#include "recipes/lock.h"

#include "recipes/contest.h"
#include "recipes/lock_request.h"
#include "recipes/unfair.h"

/*
 * The lock.
 *
 * Fair: contenders get it in the order in which they came. contest.c has the steps: take a seat,
 * see which contenders are ahead, wait until the nearest one is gone. Every contender in the
 * directory conflicts with all contenders behind it, so at most one holds the lock. A reader or a
 * writer of a read/write lock on the same path is such a contender.
 *
 * Unfair: the path is one node; the contender that creates it holds the lock (unfair.c).
 */

struct lock {
    struct zr_contest contest;
    bool unfair;
};

static const struct zr_option options[] = {
    {"data", 'd', offsetof(struct zr_lock_options, data)},
    {"fair", 'n', offsetof(struct zr_lock_options, unfair)},
    {"max_queue", 'c', offsetof(struct zr_lock_options, max_queue)},
    {NULL, 0, 0},
};

static const struct zr_role role = {.kind = ZR_CONTEST_KIND("lock:acquire"), .stem = &zr_lock_stem};

static enum zr_status start_acquire(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    struct lock *lock = (struct lock *)self;
    return lock->unfair ? zr_unfair_start(&lock->contest, &role, &args->at[0], task)
                        : zr_contest_start(&lock->contest, &role, &args->at[0], task);
}

static enum zr_status start_contenders(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task)
{
    return ((struct lock *)self)->unfair
               ? zr_unfair_contenders(self, "lock:contenders", args, task)
               : zr_contest_contenders(self, "lock:contenders", args, task);
}

static enum zr_status start_request(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    struct lock *lock = (struct lock *)self;
    return zr_lock_request(&lock->contest, !lock->unfair, &args->at[0], task);
}

static const struct zr_method methods[] = {
    {.name = "acquire", .args = "t?", .start = start_acquire},
    {.name = "cancel", .args = "", .call = zr_contest_cancel},
    {.name = "attempts", .args = "", .call = zr_contest_attempts},
    {.name = "contenders", .args = "t?", .start = start_contenders},
    {.name = "request", .args = "t?", .start = start_request},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", zr_contest_get_path}, {"session", zr_contest_get_session}, {NULL, NULL}};

const struct zr_class zr_lock_class = {"lock", methods, properties, NULL, zr_contest_free};

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    const struct zr_lock_options *given = args->options;
    if (given->unfair && given->max_queue > 0) {
        args->misuse = "a lock without a queue (fair = false) has no max_queue";
        return ZR_OK;
    }
    enum zr_status status = zr_contest_new(sizeof(struct lock), &zr_lock_class, session,
                                           args->at[0].bytes.at, given->data, object);
    if (status != ZR_OK)
        return status;
    struct lock *lock = (struct lock *)*object;
    lock->unfair = given->unfair;
    lock->contest.max_queue = given->max_queue;
    return ZR_OK;
}

const struct zr_recipe zr_lock_recipe = {
    .name = "lock",
    .args = "po?",
    .options = options,
    .options_size = sizeof(struct zr_lock_options),
    .make = make,
    .stems = (const struct zr_stem *const[]){&zr_lock_stem, NULL},
};
