#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "plain/request.h"

/*
 * session:await_gone(path): waits until an ephemeral znode is gone. All waiters of this session
 * share one watch. It is used up when the znode goes, so nothing stays behind.
 */

struct gone {
    struct zr_task task;
    char *path; /* the user's */
    char *full; /* with the namespace */
};

static struct gone *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct gone, task);
}

static void went(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

static void watch(struct zr_task *task)
{
    zr_verb_await_deleted(task, of(task)->full, 0, ZR_STEP(went));
}

static void seen(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (status == ZR_OK)
        status = task->call->request.stat.ephemeral_owner != 0 ? ZR_TIMEOUT : ZR_CONFLICT;
    if (status == ZR_CONFLICT)
        task->detail = "the znode is not ephemeral, so no session's end deletes it";
    zr_task_finish(task, status == ZR_NO_NODE ? ZR_OK : status);
}

/* With a limit of 0: reads, and leaves no watch. */
static void look(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_EXISTS, of(task)->full, false, ZR_STEP(seen));
}

static void free_task(struct zr_task *task)
{
    struct gone *gone = of(task);
    zr_free(gone->path);
    zr_free(gone->full);
    zr_free(gone);
}

static const struct zr_task_kind kind = {
    .name = "session:await_gone", .bound = true, .results = zr_emit_true, .free = free_task};

enum zr_status zr_await_gone(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_session *session = (struct zr_session *)self;
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    struct gone *gone = zr_alloc(sizeof(*gone));
    if (gone == NULL)
        return ZR_NO_MEMORY;
    gone->path = zr_copy_string(args->at[0].bytes.at);
    gone->full = zr_path_join(session->namespace, args->at[0].bytes.at);
    if (gone->path == NULL || gone->full == NULL) {
        free_task(&gone->task);
        return ZR_NO_MEMORY;
    }
    *task = &gone->task;
    const struct zr_arg *limit = &args->at[1];
    bool only_look = limit->given && limit->integer == 0;
    zr_task_start(*task, &kind, session, gone->path, limit->given ? limit->integer : -1,
                  only_look ? ZR_STEP(look) : ZR_STEP(watch));
    return ZR_OK;
}
