#include "recipes/contest.h"
#include "recipes/rwlock/sharing.h"

/*
 * The read/write lock: any number of readers at once, or one writer alone, in the order in which
 * they came. contest.c has the steps. The stem of a node's name says what its contender wants.
 *
 * 1. A reader waits for the nearest writer ahead. It sleeps until that writer has left, even while
 *    other readers come and go.
 * 2. A writer waits for the nearest node ahead, whatever its stem is.
 * 3. A writer that no longer needs to be alone becomes a reader: downgrade.c.
 *
 * So no contender overtakes one that it conflicts with, and none starves. A plain lock on the same
 * path is a writer to us, and to the plain lock we are contenders ahead. The names are Curator's.
 */

struct rwlock_options {
    struct zr_bytes data;
    int64_t max_queue;
};

static const struct zr_option options[] = {
    {"data", 'd', offsetof(struct rwlock_options, data)},
    {"max_queue", 'c', offsetof(struct rwlock_options, max_queue)},
    {NULL, 0, 0},
};

/* A writer that begins to share was the head of the queue, so for a reader it is as good as
   gone. */
static const struct zr_role reader = {.kind = ZR_CONTEST_KIND("rwlock:read"),
                                      .stem = &zr_reader_stem,
                                      .shares = true,
                                      .enough = zr_sharing_is_enough,
                                      .told = zr_contest_grant};

static const struct zr_role writer = {
    .kind = ZR_CONTEST_KIND("rwlock:write"), .stem = &zr_writer_stem, .many_follow = true};

static enum zr_status start_read(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    return zr_contest_start((struct zr_contest *)self, &reader, &args->at[0], task);
}

static enum zr_status start_write(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    return zr_contest_start((struct zr_contest *)self, &writer, &args->at[0], task);
}

/* Methods for one side: argument 1 is the readers, 0 the writers. */

static const struct zr_stem *side(const struct zr_args *args)
{
    return args->at[0].integer != 0 ? &zr_reader_stem : &zr_writer_stem;
}

static enum zr_status cancel_side(struct zr_object *self, struct zr_args *args,
                                  struct zr_sink *sink)
{
    zr_contest_cancel_of((struct zr_contest *)self, side(args), sink);
    return ZR_OK;
}

static enum zr_status attempts_side(struct zr_object *self, struct zr_args *args,
                                    struct zr_sink *sink)
{
    return zr_contest_attempts_of((struct zr_contest *)self, side(args), sink);
}

static enum zr_status start_contenders(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task)
{
    return zr_contest_contenders(self, "rwlock:contenders", args, task);
}

static const struct zr_method methods[] = {
    {.name = "read", .args = "t?", .start = start_read},
    {.name = "write", .args = "t?", .start = start_write},
    {.name = "cancel", .args = "", .call = zr_contest_cancel},
    {.name = "attempts", .args = "", .call = zr_contest_attempts},
    {.name = "cancel_side", .args = "i", .call = cancel_side, .inner = true},
    {.name = "attempts_side", .args = "i", .call = attempts_side, .inner = true},
    {.name = "contenders", .args = "t?", .start = start_contenders},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", zr_contest_get_path}, {"session", zr_contest_get_session}, {NULL, NULL}};

const struct zr_class zr_rwlock_class = {"rwlock", methods, properties, NULL, zr_contest_free};

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    const struct rwlock_options *given = args->options;
    enum zr_status status = zr_contest_new(sizeof(struct zr_contest), &zr_rwlock_class, session,
                                           args->at[0].bytes.at, given->data, object);
    if (status == ZR_OK)
        ((struct zr_contest *)*object)->max_queue = given->max_queue;
    return status;
}

const struct zr_recipe zr_rwlock_recipe = {
    .name = "rwlock",
    .args = "po?",
    .options = options,
    .options_size = sizeof(struct rwlock_options),
    .make = make,
    .stems = (const struct zr_stem *const[]){&zr_writer_stem, &zr_reader_stem, NULL},
};
