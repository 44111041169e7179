#include "core/call.h"
#include "core/task.h"
#include "core/watch_parts.h"

/*
 * Waiting until there is a node at a path, or until there is none:
 * 1. The first task reads the node and leaves a watch. Tasks that come later share both.
 * 2. The answer is what tasks wait for: they are woken. But a task that came after the read was
 * sent is not, because the answer may be older than its call; the node is read again for it.
 * 3. The answer is something else: the tasks wait for an event. It only means "read again": a task
 *    may have come while it was on its way.
 *
 * The read is a get, which leaves no watch if there is no node; or an exists, if a task waits for
 * the node to be made. After the event that the node was made, it needs no watch.
 *
 * What can go wrong: the connection is lost during the read: it is repeated. The session is lost:
 * the node is read in the next one. (Tasks that are bound to the session have ended before.)
 */

static bool awaits(const struct zr_watch *watch, bool there)
{
    const struct zr_link *end = &watch->present.tasks.head;
    for (const struct zr_link *link = end->next; link != end; link = link->next)
        if (ZR_HOLDER(link, struct zr_task, in_signal)->there == there)
            return true;
    return false;
}

/* A read is being sent: its answer counts for all tasks that wait now. */
static void note_asked(struct zr_watch *watch)
{
    ZR_LIST_EACH (link, &watch->present.tasks) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        task->late = false;
        task->asking = true;
    }
}

/* The server has answered. Tasks that go on waiting wait for an event. */
static void admit(struct zr_watch *watch, bool found)
{
    ZR_LIST_EACH (link, &watch->present.tasks) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        task->asking = false;
        if (task->there == found && !task->late)
            zr_task_wake(task, ZR_OK);
    }
}

static void look(struct zr_watch *watch, bool with_watch);

/* If the answer was not for all tasks, or no event will come, the node is read again. */
static void take(struct zr_watch *watch, bool found)
{
    watch->present_was = found;
    admit(watch, found);
    if (!watch->present_set || awaits(watch, found))
        look(watch, true);
}

static void answered(struct zr_call *call)
{
    struct zr_watch *watch = call->owner;
    const struct zr_request *request = &call->request;
    enum zr_status status = request->status;
    if (status == ZR_CONNECTION_LOSS) {
        note_asked(watch);
        zr_call_again(call);
        return;
    }
    bool found = status == ZR_OK, absent = status == ZR_NO_NODE;
    watch->present_set = request->watch && (found || (absent && request->op == ZR_OP_EXISTS));
    watch->present_read = NULL;
    zr_call_free(call);
    if (found || absent)
        take(watch, found);
    else
        zr_signal_fire(&watch->present, status);
    zr_watch_drop_if_unused(watch);
}

static enum zr_status ask(struct zr_watch *watch, bool with_watch)
{
    enum zr_op op = awaits(watch, true) ? ZR_OP_EXISTS : ZR_OP_GET;
    enum zr_status status =
        zr_call_new_full(watch->session, op, watch->path, ZR_NO_DATA, &watch->present_read);
    if (status != ZR_OK)
        return status;
    watch->present_read->request.watch = with_watch;
    note_asked(watch);
    zr_call_start(watch->present_read, answered, watch);
    return ZR_OK;
}

/* Reads the node, if a task waits and no read is out. */
static void look(struct zr_watch *watch, bool with_watch)
{
    if (watch->present_read != NULL || zr_list_empty(&watch->present.tasks))
        return;
    enum zr_status status = ask(watch, with_watch);
    if (status != ZR_OK)
        zr_signal_fire(&watch->present, status);
}

enum zr_status zr_watch_presence(struct zr_task *task, const char *path, bool there)
{
    struct zr_watch *watch;
    enum zr_status status =
        zr_watch_find_or_add(task->session, path, 1, ZR_WATCHED_BYTES_COMMON, &watch);
    if (status != ZR_OK)
        return status;
    const struct zr_call *read = watch->present_read;
    bool knows = watch->present_set && watch->present_was != there;
    task->there = there;
    task->late = read != NULL && read->state == ZR_CALL_OUT;
    task->asking = !knows;
    zr_list_append(&watch->present.tasks, &task->in_signal);
    task->watch = watch;
    if (!knows && read == NULL)
        status = ask(watch, true);
    if (status != ZR_OK)
        zr_watch_leave(task);
    return status;
}

void zr_presence_event(struct zr_watch *watch, enum zr_event_kind kind)
{
    if (kind == ZR_CHILDREN_CHANGED)
        return;
    watch->present_set = false;
    look(watch, kind != ZR_CREATED);
}

void zr_presence_over(struct zr_watch *watch, enum zr_status why)
{
    zr_call_free(watch->present_read);
    watch->present_read = NULL;
    watch->present_set = false;
    if (why == ZR_LOST)
        look(watch, true);
    else
        zr_signal_fire(&watch->present, why);
}
