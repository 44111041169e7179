#include "core/alloc.h"
#include "core/verbs.h"
#include "recipes/tree/tree.h"

/*
 * tree:ready() waits until the copy was loaded once; tree:changed(seen), for await in Lua, until
 * there were other changes than the caller has seen.
 */

struct wait {
    struct zr_task task;
    struct zr_tree *tree; /* counted */
    uint32_t seen;
};

static struct wait *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct wait, task);
}

/* True if the task has ended. */
static bool is_over(struct zr_task *task)
{
    const struct zr_tree *tree = of(task)->tree;
    if (!tree->closed && tree->running)
        return false;
    if (tree->closed)
        task->detail = "the tree is closed";
    zr_task_finish(task, tree->closed ? ZR_CLOSED : tree->ended);
    return true;
}

static void ready(struct zr_task *task)
{
    struct zr_tree *tree = of(task)->tree;
    if (is_over(task))
        return;
    if (tree->loaded)
        zr_task_finish(task, ZR_OK);
    else if (tree->problem == ZR_FULL)
        zr_task_finish(task, ZR_FULL);
    else
        zr_verb_await(task, &tree->news, ZR_STEP(ready));
}

/* Counts are given as integers of 32 bits. */
static uint32_t count(const struct zr_tree *tree)
{
    return tree->changes & INT32_MAX;
}

static void changed(struct zr_task *task)
{
    struct zr_tree *tree = of(task)->tree;
    if (is_over(task))
        return;
    if (count(tree) != of(task)->seen)
        zr_task_finish(task, ZR_OK);
    else
        zr_verb_await(task, &tree->news, ZR_STEP(changed));
}

static void emit_count(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, count(of(task)->tree));
}

static void wait_free(struct zr_task *task)
{
    struct zr_tree *tree = of(task)->tree;
    zr_free(of(task));
    zr_object_unref(&tree->object);
}

/* No server has said anything yet. */
static bool asking(const struct zr_task *task)
{
    return !ZR_HOLDER(task, struct wait, task)->tree->answered;
}

static const struct zr_task_kind ready_kind = {.name = "tree:ready",
                                               .local = true,
                                               .asking = asking,
                                               .results = zr_emit_true,
                                               .free = wait_free};
static const struct zr_task_kind changed_kind = {
    .name = "tree:await", .local = true, .results = emit_count, .free = wait_free};

static enum zr_status start(struct zr_object *self, const struct zr_task_kind *kind, int64_t seen,
                            const struct zr_arg *limit, struct zr_next first, struct zr_task **task)
{
    struct zr_tree *tree = (struct zr_tree *)self;
    enum zr_status status = zr_session_usable(tree->session);
    if (status != ZR_OK)
        return status;
    struct wait *wait = zr_alloc(sizeof(*wait));
    if (wait == NULL)
        return ZR_NO_MEMORY;
    wait->tree = (struct zr_tree *)zr_object_ref(self);
    wait->seen = (uint32_t)seen;
    *task = &wait->task;
    zr_task_start(*task, kind, tree->session, tree->path, limit->given ? limit->integer : -1,
                  first);
    return ZR_OK;
}

enum zr_status zr_tree_ready(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return start(self, &ready_kind, 0, &args->at[0], ZR_STEP(ready), task);
}

enum zr_status zr_tree_changed(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    return start(self, &changed_kind, args->at[0].integer, &args->at[1], ZR_STEP(changed), task);
}
