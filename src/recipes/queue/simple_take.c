#include "core/alloc.h"
#include "core/names.h"
#include "recipes/queue/simple.h"

/*
 * take() of a queue of the simple format. All takes of a process share a listing, until it is used
 * up or some seconds old.
 * 1. Try the names of the listing: read the item, then delete it. Whoever deletes it has it.
 * 2. No name is left: list. One take lists for all that came before it began.
 * 3. There is no item: wait. While takes wait, a look leaves watches; on an event, look again.
 *
 * What can go wrong: another client has deleted the item: try the next name. The answer to the
 * delete is lost: the caller is told so, because the item may be gone. A take ends without the item
 * that it tried, or without the listing that others wait for: they look again. A server refuses an
 * item: the take fails, and the next one tries the next name, so that one item does not stop all.
 */

struct take {
    struct zr_simple_task lists;
    uint64_t wanted;      /* a look with a larger number than this shows what the caller wants */
    uint64_t seen;        /* how many reasons to look there were before the last such look */
    bool looks, joins;    /* it lists; it waits for the one that does */
    bool waits;           /* counted in simple->waiting */
    char *path;           /* of the item that it tries; ours */
    struct zr_bytes data; /* ours */
};

static void look(struct zr_task *task);
static void look_again(struct zr_task *task);
static void next(struct zr_task *task);

static struct take *of(struct zr_task *task)
{
    return ZR_HOLDER(zr_simple_task_of(task), struct take, lists);
}

static void unfollow(struct zr_task *task)
{
    if (of(task)->waits)
        zr_simple_unfollow(zr_simple_of(task));
    of(task)->waits = false;
}

/* ---- An item ------------------------------------------------------------------------------- */

static void forget_item(struct take *take)
{
    zr_free(take->path);
    zr_free((char *)take->data.at);
    take->path = NULL;
    take->data = ZR_NO_DATA;
}

static void deleted(struct zr_task *task)
{
    if (task->outcome == ZR_OK) {
        zr_free(of(task)->path);
        of(task)->path = NULL;
        unfollow(task);
        zr_task_finish(task, ZR_OK);
    } else if (task->outcome == ZR_NO_NODE) {
        task->doubtful = false;
        forget_item(of(task));
        next(task);
    } else {
        zr_verb_fail(task, task->outcome);
    }
}

static void item_read(struct zr_task *task)
{
    struct take *take = of(task);
    const struct zr_request what = {
        .op = ZR_OP_DELETE, .path = take->path, .version = ZR_ANY_VERSION};
    if (task->outcome == ZR_NO_NODE) {
        forget_item(take);
        next(task);
        return;
    }
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    take->data = task->call->request.data_reply;
    task->call->request.data_reply = ZR_NO_DATA;
    task->doubtful = true;
    zr_verb_ask(task, &what, false, ZR_STEP(deleted));
}

/* If there is no memory for it, the name is left for the others that were told of it. */
static void try_name(struct zr_task *task)
{
    struct zr_simple *simple = zr_simple_of(task);
    of(task)->path = zr_path_child(simple->znode.full, simple->names->at[simple->next]);
    if (of(task)->path == NULL) {
        zr_verb_fail(task, ZR_NO_MEMORY);
        return;
    }
    simple->next++;
    zr_verb_read(task, ZR_OP_GET, of(task)->path, false, ZR_STEP(item_read));
}

/* ---- Waiting for an item ------------------------------------------------------------------- */

static void await_news(struct zr_task *task)
{
    if (zr_simple_has_name(zr_simple_of(task)))
        try_name(task);
    else if (zr_simple_of(task)->events > of(task)->seen)
        look_again(task);
    else
        zr_verb_await(task, &zr_simple_of(task)->news, ZR_STEP(await_news));
}

/* From now on a look leaves watches. If the last one did not, look once more. */
static void begin_to_wait(struct zr_task *task)
{
    enum zr_status status = zr_simple_follow(zr_simple_of(task));
    of(task)->waits = status == ZR_OK;
    if (status != ZR_OK)
        zr_verb_fail(task, status);
    else if (zr_simple_of(task)->watched)
        await_news(task);
    else
        look(task);
}

/* ---- Looking ------------------------------------------------------------------------------- */

/* A look that began after the caller wanted one shows no item. */
static void no_item(struct zr_task *task)
{
    of(task)->seen = zr_simple_of(task)->seen;
    if (of(task)->waits) {
        await_news(task);
    } else if (task->tries) {
        task->detail = "there is no item";
        zr_task_finish(task, ZR_TIMEOUT);
    } else {
        begin_to_wait(task);
    }
}

static void end_look(struct zr_task *task)
{
    struct zr_simple *simple = zr_simple_of(task);
    of(task)->looks = simple->looking = false;
    zr_signal_fire(&simple->looked, ZR_OK);
}

static void listed(struct zr_task *task)
{
    struct zr_simple *simple = zr_simple_of(task);
    zr_simple_set_names(simple, of(task)->lists.names);
    of(task)->lists.names = NULL;
    simple->done = simple->looks;
    simple->seen = simple->before;
    simple->watched = of(task)->lists.watches && simple->waiting > 0;
    if (zr_simple_has_name(simple))
        zr_signal_fire(&simple->news, ZR_OK);
    end_look(task);
    if (zr_simple_has_name(simple))
        try_name(task);
    else
        no_item(task);
}

static void join(struct zr_task *task);

static void joined(struct zr_task *task)
{
    of(task)->joins = false;
    if (zr_simple_has_name(zr_simple_of(task)))
        try_name(task);
    else if (zr_simple_of(task)->done > of(task)->wanted)
        no_item(task);
    else
        join(task);
}

static void join(struct zr_task *task)
{
    struct zr_simple *simple = zr_simple_of(task);
    if (simple->looking) {
        of(task)->joins = true;
        zr_verb_await(task, &simple->looked, ZR_STEP(joined));
        return;
    }
    of(task)->looks = simple->looking = true;
    simple->looks++;
    simple->before = simple->events;
    zr_simple_list(task, simple->waiting > 0, listed);
}

static void look(struct zr_task *task)
{
    of(task)->wanted = zr_simple_of(task)->looks;
    join(task);
}

/* There is a reason; a look that began after it will do. */
static void look_again(struct zr_task *task)
{
    const struct zr_simple *simple = zr_simple_of(task);
    bool runs = simple->looking && simple->before == simple->events;
    of(task)->wanted = runs ? simple->looks - 1 : simple->looks;
    join(task);
}

static void next(struct zr_task *task)
{
    struct zr_simple *simple = zr_simple_of(task);
    if (zr_engine_now_us(task->session->engine) > simple->fresh_until_us)
        zr_simple_set_names(simple, NULL);
    if (zr_simple_has_name(simple))
        try_name(task);
    else
        look(task);
}

/* ---- The method ---------------------------------------------------------------------------- */

/* The item that it tried is the first one of the next listing. */
static void give_back(struct zr_task *task)
{
    if (of(task)->path != NULL)
        zr_simple_of(task)->fresh_until_us = 0;
}

/* What it leaves is for others: the item that it tried, the look that it began. */
static void leave(struct zr_task *task)
{
    struct take *take = of(task);
    struct zr_simple *simple = zr_simple_of(task);
    bool unfinished = take->looks || take->path != NULL;
    unfollow(task);
    forget_item(take);
    if (take->looks)
        end_look(task);
    if (unfinished)
        zr_simple_happened(simple);
}

static void ended(struct zr_task *task)
{
    give_back(task);
    leave(task);
    zr_task_finish(task, ZR_OK);
}

/* The item cannot be read, or cannot be deleted. */
static bool is_refusal(enum zr_status status)
{
    return status == ZR_NO_AUTH || status == ZR_NOT_EMPTY || status == ZR_TOO_LARGE;
}

/* A verb has failed, or the limit has passed. */
static void give_up(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (status == ZR_TIMEOUT)
        task->detail = "there is no item";
    if (status != ZR_CONNECTION_LOSS)
        task->doubtful = false;
    if (!is_refusal(status))
        give_back(task);
    leave(task);
    zr_task_finish(task, status);
}

static bool asking(const struct zr_task *task)
{
    return task->asking || of((struct zr_task *)task)->joins;
}

static void emit(struct zr_task *task, struct zr_sink *sink)
{
    const struct zr_bytes data = of(task)->data;
    sink->bytes(sink, NULL, data.at != NULL ? data : (struct zr_bytes){"", 0});
}

static void free_take(struct zr_task *task)
{
    forget_item(of(task));
    zr_simple_task_free(task);
}

static const struct zr_task_kind kind = {.name = "queue:take",
                                         .clean = ended,
                                         .give_up = give_up,
                                         .asking = asking,
                                         .results = emit,
                                         .free = free_take};

enum zr_status zr_simple_start_take(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    enum zr_status status = zr_znode_task_new(sizeof(struct take), self, &znode_task);
    if (status != ZR_OK)
        return status;
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, &kind, &args->at[0], ZR_STEP(next));
    return ZR_OK;
}
