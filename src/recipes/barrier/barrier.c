#include "recipes/znode.h"

/*
 * The single barrier: tasks wait until it opens. The algorithm is "Barriers" of ZooKeeper's page of
 * recipes.
 *
 * It is closed while its znode exists: `close` creates the znode, `open` deletes it, and `wait`
 * waits until there is none. All tasks of a session that wait at one path share a watch.
 *
 * What can go wrong: an answer is lost: each request is repeated, because creating and deleting
 * twice do no harm. The session is lost: the requests and the waits continue in the next one.
 */

/* ---- close --------------------------------------------------------------------------------- */

static void done(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

static void close_it(struct zr_task *task)
{
    zr_znode_make(task, (struct zr_bytes){"", 0}, ZR_STEP(done));
}

static const struct zr_task_kind close_kind = {
    .name = "barrier:close", .results = zr_emit_true, .free = zr_znode_task_free};

/* ---- open ---------------------------------------------------------------------------------- */

static void deleted(struct zr_task *task)
{
    zr_task_finish(task, task->outcome == ZR_NO_NODE ? ZR_OK : task->outcome);
}

static void open_it(struct zr_task *task)
{
    const struct zr_request what = {
        .op = ZR_OP_DELETE, .path = zr_znode_of(task)->full, .version = ZR_ANY_VERSION};
    zr_verb_ask(task, &what, true, ZR_STEP(deleted));
}

static const struct zr_task_kind open_kind = {
    .name = "barrier:open", .results = zr_emit_true, .free = zr_znode_task_free};

/* ---- wait ---------------------------------------------------------------------------------- */

static void await_open(struct zr_task *task)
{
    zr_verb_await_presence(task, zr_znode_of(task)->full, false, ZR_STEP(done));
}

static void looked(struct zr_task *task)
{
    enum zr_status status = task->outcome == ZR_OK ? ZR_TIMEOUT : task->outcome;
    if (status == ZR_TIMEOUT)
        task->detail = "it is not open";
    zr_task_finish(task, status == ZR_NO_NODE ? ZR_OK : status);
}

/* With a limit of 0. */
static void look_once(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_EXISTS, zr_znode_of(task)->full, false, ZR_STEP(looked));
}

static const struct zr_task_kind wait_kind = {
    .name = "barrier:wait", .results = zr_emit_true, .free = zr_znode_task_free};

/* ---- The class ----------------------------------------------------------------------------- */

static enum zr_status start(struct zr_object *self, struct zr_args *args,
                            const struct zr_task_kind *kind, struct zr_next first,
                            struct zr_task **task)
{
    struct zr_znode_task *znode_task;
    enum zr_status status = zr_znode_task_new(sizeof(*znode_task), self, &znode_task);
    if (status != ZR_OK)
        return status;
    *task = &znode_task->task;
    zr_znode_task_start(znode_task, kind, &args->at[0], first);
    return ZR_OK;
}

static enum zr_status start_close(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task)
{
    return start(self, args, &close_kind, ZR_STEP(close_it), task);
}

static enum zr_status start_open(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    return start(self, args, &open_kind, ZR_STEP(open_it), task);
}

static enum zr_status start_wait(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    bool tries = args->at[0].given && args->at[0].integer == 0;
    return start(self, args, &wait_kind, tries ? ZR_STEP(look_once) : ZR_STEP(await_open), task);
}

static const struct zr_method methods[] = {
    {.name = "close", .args = "t?", .start = start_close},
    {.name = "open", .args = "t?", .start = start_open},
    {.name = "wait", .args = "t?", .start = start_wait},
    {.name = NULL},
};

static const struct zr_property properties[] = {
    {"path", zr_znode_get_path}, {"session", zr_znode_get_session}, {NULL, NULL}};

const struct zr_class zr_barrier_class = {"barrier", methods, properties, NULL, zr_znode_free};

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    return zr_znode_new(sizeof(struct zr_znode), &zr_barrier_class, session, args, object);
}

const struct zr_recipe zr_barrier_recipe = {.name = "barrier", .args = "p", .make = make};
