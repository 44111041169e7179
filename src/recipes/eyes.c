#include "recipes/eyes.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"

/*
 * An eye is a task without a waiter:
 * 1. It waits until its node is gone. Or it reads the node, which leaves a watch, and waits for the
 *    event; if the node has changed already, it does not wait.
 * 2. It ends, and reports that, also if it ends because memory is exhausted or access is denied.
 *
 * What can go wrong: the session is lost; that wakes the waiting task as well. A watch stays behind
 * when eyes are shut: if it waits for the end of a node, the next eye uses it.
 */

struct eye {
    struct zr_task task;
    struct zr_eyes *eyes; /* null: shut */
    struct zr_link in_eyes;
    const char *dir;        /* borrowed while it starts */
    char *path;             /* the node's name, or, with a watch, its path */
    struct zr_watch *watch; /* followed, or null */
    int64_t events, mzxid;
};

static struct eye *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct eye, task);
}

static void moved(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

static void await_gone(struct zr_task *task)
{
    zr_verb_await_gone(task, of(task)->dir, of(task)->path, NULL, ZR_STEP(moved));
}

static void was_read(struct zr_task *task)
{
    struct eye *eye = of(task);
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        zr_verb_fail(task, task->outcome);
    else if (task->outcome == ZR_NO_NODE || task->call->request.stat.mzxid != eye->mzxid)
        zr_task_finish(task, ZR_OK);
    else
        zr_verb_await_change(task, eye->watch, eye->events, ZR_STEP(moved));
}

static void read_node(struct zr_task *task)
{
    struct eye *eye = of(task);
    eye->events = zr_watch_events(eye->watch);
    zr_verb_read(task, ZR_OP_GET, eye->path, true, ZR_STEP(was_read));
}

static void free_eye(struct eye *eye)
{
    zr_watch_unfollow(eye->watch);
    zr_free(eye->path);
    zr_free(eye);
}

static void ended(struct zr_task *task)
{
    struct eye *eye = of(task);
    struct zr_eyes *eyes = eye->eyes;
    enum zr_status status = task->status;
    zr_unlink(&eye->in_eyes);
    free_eye(eye);
    if (eyes != NULL)
        zr_signal_fire(&eyes->moved, status);
}

static const struct zr_task_kind kind = {.name = "watch", .bound = true, .free = ended};

void zr_eyes_init(struct zr_eyes *eyes, struct zr_session *session, const char *subject)
{
    eyes->session = session;
    eyes->subject = subject;
    zr_list_init(&eyes->open);
    zr_signal_init(&eyes->moved);
}

static struct eye *new_eye(const char *path)
{
    struct eye *eye = zr_alloc(sizeof(*eye));
    if (eye == NULL)
        return NULL;
    eye->path = zr_copy_string(path);
    if (eye->path != NULL)
        return eye;
    free_eye(eye);
    return NULL;
}

static void open_eye(struct zr_eyes *eyes, struct eye *eye, struct zr_next first)
{
    eye->eyes = eyes;
    zr_list_append(&eyes->open, &eye->in_eyes);
    zr_task_start(&eye->task, &kind, eyes->session, eyes->subject, -1, first);
    zr_task_detach(&eye->task);
}

enum zr_status zr_eyes_gone(struct zr_eyes *eyes, const char *dir, const char *name)
{
    struct eye *eye = new_eye(name);
    if (eye == NULL)
        return ZR_NO_MEMORY;
    eye->dir = dir;
    open_eye(eyes, eye, ZR_STEP(await_gone));
    return ZR_OK;
}

enum zr_status zr_eyes_changed(struct zr_eyes *eyes, const char *path, int64_t mzxid)
{
    struct zr_link *open = zr_list_first(&eyes->open);
    if (open != NULL && ZR_HOLDER(open, struct eye, in_eyes)->mzxid == mzxid)
        return ZR_OK;
    struct eye *eye = new_eye(path);
    if (eye == NULL)
        return ZR_NO_MEMORY;
    eye->mzxid = mzxid;
    enum zr_status status =
        zr_watch_follow(eyes->session, path, 1, ZR_WATCHED_BYTES_COMMON, &eye->watch);
    if (status == ZR_OK)
        open_eye(eyes, eye, ZR_STEP(read_node));
    else
        free_eye(eye);
    return status;
}

static void shut(struct zr_eyes *eyes, bool all)
{
    struct zr_link *link, *next;
    for (link = eyes->open.head.next; link != &eyes->open.head; link = next) {
        struct eye *eye = ZR_HOLDER(link, struct eye, in_eyes);
        next = link->next;
        if (eye->watch != NULL && !all)
            continue;
        eye->eyes = NULL;
        zr_task_interrupt(&eye->task, ZR_CANCELED);
    }
}

void zr_eyes_blink(struct zr_eyes *eyes)
{
    shut(eyes, false);
}

void zr_eyes_shut(struct zr_eyes *eyes)
{
    shut(eyes, true);
}
