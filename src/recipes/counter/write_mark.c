#include "recipes/counter/write_mark.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/ephemerals.h"
#include "core/verbs.h"

/*
 * The life of a mark:
 * 1. A counter's first write creates it; each write sets it.
 * 2. When the counter is collected, or cannot use the mark, it is deleted in the background.
 *
 * What can go wrong: the answer to the create is lost: this mark is dropped, and another one made.
 * The session is lost: the server deletes the mark. The create is done after the delete: the mark
 * is left until the session ends.
 */

#define PREFIX "/mark-"
#define MEMORY_PAUSE_US 100000

/* ---- Making -------------------------------------------------------------------------------- */

static enum zr_status new_calls(struct zr_session *session, struct zr_mark *mark,
                                struct zr_call **create)
{
    const struct zr_bytes empty = {"", 0};
    enum zr_status status =
        zr_call_new_full(session, ZR_OP_DELETE, mark->path, ZR_NO_DATA, &mark->removal);
    if (status == ZR_OK)
        status = zr_call_new_full(session, ZR_OP_CREATE, mark->path, empty, create);
    if (status != ZR_OK)
        return status;
    (*create)->request.mode = ZR_EPHEMERAL;
    (*create)->bound = true;
    (*create)->generation = session->generation;
    status = zr_ephemerals_reserve(*create);
    if (status != ZR_OK)
        zr_call_free(*create);
    return status;
}

enum zr_status zr_mark_new(struct zr_session *session, const char *counter, struct zr_mark **out,
                           struct zr_call **create)
{
    char tag[ZR_TAG];
    struct zr_mark *mark = zr_alloc(sizeof(*mark) + strlen(counter) + sizeof(PREFIX) + sizeof(tag));
    if (mark == NULL)
        return ZR_NO_MEMORY;
    mark->generation = session->generation;
    zr_session_tag(session, session->id, tag);
    sprintf(mark->path, "%s" PREFIX "%s", counter, tag);
    enum zr_status status = new_calls(session, mark, create);
    if (status == ZR_OK)
        *out = mark;
    else
        zr_mark_free(mark);
    return status;
}

/* After 2^31 writes the version is negative, and soon -1, which to ZooKeeper means any version. */
bool zr_mark_usable(const struct zr_mark *mark, const struct zr_session *session)
{
    return mark != NULL && mark->made && mark->generation == session->generation &&
           mark->version >= 0;
}

/* ---- Deleting ------------------------------------------------------------------------------ */

void zr_mark_free(struct zr_mark *mark)
{
    if (mark == NULL)
        return;
    zr_call_free(mark->removal);
    zr_free(mark);
}

static struct zr_mark *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_mark, task);
}

static bool is_over(const struct zr_mark *mark, const struct zr_session *session)
{
    return mark->generation != session->generation || zr_session_usable(session) != ZR_OK;
}

static void remove_it(struct zr_task *task);

static void removed(struct zr_task *task)
{
    if (task->outcome != ZR_NO_MEMORY) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    of(task)->removal = task->call;
    task->call = NULL;
    zr_verb_pause(task, MEMORY_PAUSE_US, ZR_STEP(remove_it));
}

static void remove_it(struct zr_task *task)
{
    struct zr_mark *mark = of(task);
    struct zr_call *removal = mark->removal;
    if (removal == NULL || is_over(mark, task->session)) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    mark->removal = NULL;
    zr_verb_request(task, removal, true, ZR_STEP(removed));
}

static void free_mark(struct zr_task *task)
{
    zr_mark_free(of(task));
}

static const struct zr_task_kind kind = {
    .name = "counter:mark", .clean = remove_it, .bound = true, .free = free_mark};

void zr_mark_drop(struct zr_mark *mark, struct zr_session *session)
{
    if (mark != NULL && !is_over(mark, session))
        zr_task_start_cleaning(&mark->task, &kind, session);
    else
        zr_mark_free(mark);
}
