#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "plain/request.h"

/*
 * session:delete_tree(path): the znode and all below it.
 * 1. List the znode, then each of its children, and so on.
 * 2. Delete what was found, leaves first, many in one multi.
 *
 * What can go wrong: another client has deleted some of it, the multi is too large, or its answer
 * is lost: delete these one by one, which may be done twice. Another client has created znodes
 * below meanwhile: list again, a few times.
 */

#define BATCH_PARTS 200
#define BATCH_BYTES 200000
#define PART_BYTES 50 /* of a part, beside its path */
#define ROUNDS 10
#define FIRST_ROOM 64

struct deletion {
    struct zr_task task;
    bool limited; /* it has a time limit for all of it; otherwise each request has one */
    char *root;   /* the user's path */
    char **paths; /* with the namespace; each before what is below it */
    size_t count, room;
    size_t listed; /* whose children are known */
    size_t batch;  /* how many of the last ones are deleted now */
    int rounds;
};

static void list_next(struct zr_task *task);
static void delete_next(struct zr_task *task);

static struct deletion *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct deletion, task);
}

/* Before each request. */
static void allow_time(struct zr_task *task)
{
    if (!of(task)->limited)
        zr_task_limit(task, zr_session_patience_us(task->session));
}

/* ---- The paths ----------------------------------------------------------------------------- */

static bool make_room(struct deletion *all)
{
    if (all->count < all->room)
        return true;
    size_t room = all->room > 0 ? 2 * all->room : FIRST_ROOM;
    char **paths = zr_alloc(room * sizeof(*paths));
    if (paths == NULL)
        return false;
    if (all->count > 0)
        memcpy(paths, all->paths, all->count * sizeof(*paths));
    zr_free(all->paths);
    all->paths = paths;
    all->room = room;
    return true;
}

/* takes: path, or null. */
static bool add(struct deletion *all, char *path)
{
    if (path == NULL || !make_room(all)) {
        zr_free(path);
        return false;
    }
    all->paths[all->count++] = path;
    return true;
}

static void forget_last(struct deletion *all, size_t count)
{
    for (; count > 0; count--)
        zr_free(all->paths[--all->count]);
}

static bool add_children(struct deletion *all, const struct zr_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (!add(all, zr_path_child(all->paths[all->listed], names->at[i])))
            return false;
    return true;
}

/* ---- Listing ------------------------------------------------------------------------------- */

static void begin_round(struct zr_task *task)
{
    struct deletion *all = of(task);
    forget_last(all, all->count);
    all->listed = 0;
    all->rounds++;
    if (add(all, zr_path_join(task->session->namespace, all->root)))
        list_next(task);
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void was_listed(struct zr_task *task)
{
    struct deletion *all = of(task);
    bool gone = task->outcome == ZR_NO_NODE;
    if (gone && all->listed == 0 && all->rounds > 1) {
        zr_task_finish(task, ZR_OK);
    } else if (task->outcome != ZR_OK && (!gone || all->listed == 0)) {
        zr_verb_fail(task, task->outcome);
    } else if (!gone && !add_children(all, task->call->request.names)) {
        zr_verb_fail(task, ZR_NO_MEMORY);
    } else {
        all->listed++;
        list_next(task);
    }
}

static void list_next(struct zr_task *task)
{
    const struct deletion *all = of(task);
    allow_time(task);
    if (all->listed < all->count)
        zr_verb_read(task, ZR_OP_CHILDREN, all->paths[all->listed], false, ZR_STEP(was_listed));
    else
        delete_next(task);
}

/* ---- Deleting ------------------------------------------------------------------------------ */

static void delete_one(struct zr_task *task);

static void was_deleted(struct zr_task *task)
{
    struct deletion *all = of(task);
    task->doubtful = task->doubtful || task->outcome == ZR_OK;
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE) {
        forget_last(all, 1);
        all->batch--;
        delete_one(task);
    } else if (task->outcome == ZR_NOT_EMPTY && all->rounds < ROUNDS) {
        begin_round(task);
    } else {
        zr_verb_fail(task, task->outcome);
    }
}

/* The rest of the batch, one by one. */
static void delete_one(struct zr_task *task)
{
    const struct deletion *all = of(task);
    if (all->batch == 0) {
        delete_next(task);
        return;
    }
    const struct zr_request what = {
        .op = ZR_OP_DELETE, .path = all->paths[all->count - 1], .version = ZR_ANY_VERSION};
    allow_time(task);
    zr_verb_ask(task, &what, true, ZR_STEP(was_deleted));
}

static void batch_deleted(struct zr_task *task)
{
    struct deletion *all = of(task);
    enum zr_status status = task->outcome;
    task->doubtful = task->doubtful || status == ZR_OK || status == ZR_CONNECTION_LOSS;
    if (status == ZR_OK) {
        forget_last(all, all->batch);
        delete_next(task);
    } else if (status == ZR_NO_NODE || status == ZR_NOT_EMPTY || status == ZR_TOO_LARGE ||
               status == ZR_CONNECTION_LOSS) {
        delete_one(task);
    } else {
        zr_verb_fail(task, status);
    }
}

/* Makes the multi of the next batch, and sets all->batch. */
static enum zr_status new_batch(struct zr_task *task, struct zr_call **call)
{
    struct deletion *all = of(task);
    struct zr_request *parts = zr_alloc(BATCH_PARTS * sizeof(*parts));
    size_t bytes = 0;
    if (parts == NULL)
        return ZR_NO_MEMORY;
    all->batch = 0;
    while (all->batch < all->count && all->batch < BATCH_PARTS && bytes <= BATCH_BYTES) {
        const char *path = all->paths[all->count - ++all->batch];
        bytes += strlen(path) + PART_BYTES;
        parts[all->batch - 1] =
            (struct zr_request){.op = ZR_OP_DELETE,
                                .path = zr_path_inside(task->session->namespace, path),
                                .version = ZR_ANY_VERSION};
    }
    enum zr_status status = zr_call_new_multi(task->session, NULL, parts, all->batch, call);
    zr_free(parts);
    return status;
}

static void delete_next(struct zr_task *task)
{
    struct zr_call *call;
    if (of(task)->count == 0) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    allow_time(task);
    enum zr_status status = new_batch(task, &call);
    if (status == ZR_OK)
        zr_verb_request(task, call, false, ZR_STEP(batch_deleted));
    else
        zr_verb_fail(task, status);
}

/* ---- The method ---------------------------------------------------------------------------- */

static void free_deletion(struct zr_task *task)
{
    struct deletion *all = of(task);
    forget_last(all, all->count);
    zr_free(all->paths);
    zr_free(all->root);
    zr_free(all);
}

static const struct zr_task_kind kind = {
    .name = "session:delete_tree", .writes = true, .results = zr_emit_true, .free = free_deletion};

enum zr_status zr_plain_delete_tree(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    struct zr_session *session = (struct zr_session *)self;
    int64_t timeout_us = ((const struct zr_request_options *)args->options)->timeout_us;
    if (strcmp(args->at[0].bytes.at, "/") == 0) {
        args->misuse = "the root cannot be deleted";
        return ZR_OK;
    }
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    struct deletion *all = zr_alloc(sizeof(*all));
    if (all == NULL)
        return ZR_NO_MEMORY;
    all->limited = timeout_us >= 0;
    all->root = zr_copy_string(args->at[0].bytes.at);
    if (all->root == NULL) {
        free_deletion(&all->task);
        return ZR_NO_MEMORY;
    }
    *task = &all->task;
    zr_task_start(*task, &kind, session, all->root,
                  all->limited ? timeout_us : zr_session_patience_us(session),
                  ZR_STEP(begin_round));
    return ZR_OK;
}
