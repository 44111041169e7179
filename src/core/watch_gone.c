#include "core/watch_parts.h"

#include "core/call.h"
#include "core/stem.h"
#include "core/strangers.h"
#include "core/task.h"

/*
 * Waiting until a node is gone:
 * 1. zr_watch_gone reads the node with a watch, or joins the tasks that have done so. It reads with
 *    get, never with exists: if the node is gone, exists would leave a watch forever.
 * 2. NO_NODE, or the event DELETED: all tasks that wait for its end are woken.
 * 3. Any other event has used the watch up: if a task still waits, the node is read again. If it is
 *    another node (the first was replaced while the connection was down), the awaited one is gone.
 *    If it is the same, its stem reads its word (stem.h), and the tasks for which that is enough
 *    are woken.
 * 4. The node is not ephemeral: no session's end will remove it, so the tasks fail instead of
 *    waiting forever. A contender passes the node if it is a stranger (strangers.h).
 *
 * What can go wrong: the connection is lost during the read: it is repeated.
 */

/* True if the node that was found is younger than the one that the task waits for. (If it is older,
   the event of its end, or the next look, is still to come.) */
static bool outlived(struct zr_task *task, const struct zr_watch *watch)
{
    if (task->awaited == 0)
        task->awaited = watch->czxid;
    return watch->czxid > task->awaited;
}

/* The answer has come; it is for all tasks that wait. */
static void wake_outlived(struct zr_watch *watch)
{
    struct zr_list *tasks = &watch->gone.tasks;
    ZR_LIST_EACH (link, tasks) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        task->asking = false;
        if (outlived(task, watch))
            zr_task_wake(task, ZR_OK);
    }
}

/* For a contender, a stranger is as good as gone. */
static void tell_that_it_stays(struct zr_watch *watch)
{
    struct zr_session *session = watch->session;
    struct zr_link *link;
    while ((link = zr_list_shift(&watch->gone.tasks)) != NULL) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        if (task->contends && zr_stranger_suspected(session, watch->path)) {
            zr_stranger_ignored(session, watch->path);
            zr_task_wake(task, ZR_OK);
            continue;
        }
        if (task->contends)
            zr_stranger_blamed(task, watch->path);
        zr_task_wake(task, ZR_CONFLICT);
    }
}

static void looked(struct zr_call *call)
{
    struct zr_watch *watch = call->owner;
    enum zr_status outcome = call->request.status;
    if (outcome == ZR_CONNECTION_LOSS) {
        zr_call_again(call);
        return;
    }
    watch->set = outcome == ZR_OK;
    watch->czxid = call->request.stat.czxid;
    if (watch->set)
        wake_outlived(watch);
    watch->word = zr_stem_word(watch->session->engine->recipes, &call->request);
    watch->stays = outcome == ZR_OK && call->request.stat.ephemeral_owner == 0;
    zr_call_free(call);
    watch->call = NULL;
    if (watch->stays)
        tell_that_it_stays(watch);
    else if (outcome != ZR_OK)
        zr_signal_fire(&watch->gone, outcome == ZR_NO_NODE ? ZR_OK : outcome);
    else
        zr_signal_tell(&watch->gone, watch->word);
    zr_watch_drop_if_unused(watch);
}

enum zr_status zr_watch_look(struct zr_watch *watch)
{
    if (watch->set || watch->call != NULL || zr_list_empty(&watch->gone.tasks))
        return ZR_OK;
    enum zr_status status =
        zr_call_new_full(watch->session, ZR_OP_GET, watch->path, ZR_NO_DATA, &watch->call);
    if (status != ZR_OK)
        return status;
    watch->call->request.watch = true;
    zr_call_start(watch->call, looked, watch);
    return ZR_OK;
}

enum zr_status zr_watch_gone(struct zr_task *task, const char *path, size_t most)
{
    struct zr_watch *watch;
    enum zr_status status = zr_watch_find_or_add(task->session, path, 1, most, &watch);
    if (status != ZR_OK)
        return status;
    zr_list_append(&watch->gone.tasks, &task->in_signal);
    task->watch = watch;
    task->asking = !watch->set;
    if (watch->set && outlived(task, watch)) {
        zr_task_wake(task, ZR_OK);
    } else if (watch->set && watch->stays) {
        tell_that_it_stays(watch);
    } else {
        if (watch->set)
            zr_signal_tell(&watch->gone, watch->word);
        status = zr_watch_look(watch);
    }
    if (status != ZR_OK)
        zr_watch_leave(task);
    else
        zr_watch_drop_if_unused(watch);
    return status;
}

void zr_watch_leave(struct zr_task *task)
{
    struct zr_watch *watch = task->watch;
    zr_unlink(&task->in_signal);
    task->watch = NULL;
    if (watch != NULL)
        zr_watch_drop_if_unused(watch);
}

bool zr_watch_awaited(const struct zr_session *session, const char *path)
{
    const struct zr_watch *watch = zr_watch_find(session, path);
    return watch != NULL && !zr_list_empty(&watch->gone.tasks);
}
