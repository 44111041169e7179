#include "recipes/semaphore/watch_set.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"

/*
 * A member of the set is a task without a waiter:
 * 1. It waits until its node is gone. Or it reads the node, which leaves a watch, and waits for the
 *    event; if the node has changed already, it does not wait.
 * 2. It ends, and reports that, also if it ends because memory is exhausted or access is denied.
 *
 * What can go wrong: the session is lost; that wakes the waiting task as well. A watch stays behind
 * when its member is removed: if it waits for the end of a node, the next member uses it.
 */

struct member {
    struct zr_task task;
    struct zr_watch_set *set; /* null: removed */
    struct zr_link in_set;
    const char *dir;        /* borrowed while it starts */
    char *path;             /* the node's name, or, with a watch, its path */
    struct zr_watch *watch; /* followed, or null */
    int64_t events, mzxid;
};

static struct member *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct member, task);
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
    struct member *member = of(task);
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        zr_verb_fail(task, task->outcome);
    else if (task->outcome == ZR_NO_NODE || task->call->request.stat.mzxid != member->mzxid)
        zr_task_finish(task, ZR_OK);
    else
        zr_verb_await_change(task, member->watch, member->events, ZR_STEP(moved));
}

static void read_node(struct zr_task *task)
{
    struct member *member = of(task);
    member->events = zr_watch_events(member->watch);
    zr_verb_read(task, ZR_OP_GET, member->path, true, ZR_STEP(was_read));
}

static void free_member(struct member *member)
{
    zr_watch_unfollow(member->watch);
    zr_free(member->path);
    zr_free(member);
}

static void ended(struct zr_task *task)
{
    struct member *member = of(task);
    struct zr_watch_set *set = member->set;
    enum zr_status status = task->status;
    zr_unlink(&member->in_set);
    if (set != NULL && status == ZR_CONFLICT) {
        zr_free(set->in_the_way);
        set->in_the_way = member->path;
        member->path = NULL;
    }
    free_member(member);
    if (set != NULL)
        zr_signal_fire(&set->moved, status);
}

static const struct zr_task_kind kind = {.name = "watch", .bound = true, .free = ended};

void zr_watch_set_init(struct zr_watch_set *set, struct zr_session *session, const char *subject)
{
    set->session = session;
    set->subject = subject;
    zr_list_init(&set->members);
    zr_signal_init(&set->moved);
}

static struct member *new_member(const char *path)
{
    struct member *member = zr_alloc(sizeof(*member));
    if (member == NULL)
        return NULL;
    member->path = zr_copy_string(path);
    if (member->path != NULL)
        return member;
    free_member(member);
    return NULL;
}

static void start_member(struct zr_watch_set *set, struct member *member, struct zr_next first)
{
    member->set = set;
    zr_list_append(&set->members, &member->in_set);
    zr_task_start(&member->task, &kind, set->session, set->subject, -1, first);
    zr_task_detach(&member->task);
}

enum zr_status zr_watch_set_add_gone(struct zr_watch_set *set, const char *dir, const char *name)
{
    struct member *member = new_member(name);
    if (member == NULL)
        return ZR_NO_MEMORY;
    member->dir = dir;
    start_member(set, member, ZR_STEP(await_gone));
    return ZR_OK;
}

enum zr_status zr_watch_set_add_changed(struct zr_watch_set *set, const char *path, int64_t mzxid)
{
    struct zr_link *first = zr_list_first(&set->members);
    if (first != NULL && ZR_HOLDER(first, struct member, in_set)->mzxid == mzxid)
        return ZR_OK;
    struct member *member = new_member(path);
    if (member == NULL)
        return ZR_NO_MEMORY;
    member->mzxid = mzxid;
    enum zr_status status =
        zr_watch_follow(set->session, path, 1, ZR_WATCHED_BYTES_COMMON, &member->watch);
    if (status == ZR_OK)
        start_member(set, member, ZR_STEP(read_node));
    else
        free_member(member);
    return status;
}

static void remove_members(struct zr_watch_set *set, bool all)
{
    ZR_LIST_EACH (link, &set->members) {
        struct member *member = ZR_HOLDER(link, struct member, in_set);
        if (member->watch != NULL && !all)
            continue;
        member->set = NULL;
        zr_task_interrupt(&member->task, ZR_CANCELED);
    }
}

void zr_watch_set_remove_gone(struct zr_watch_set *set)
{
    remove_members(set, false);
}

void zr_watch_set_clear(struct zr_watch_set *set)
{
    remove_members(set, true);
    zr_free(set->in_the_way);
    set->in_the_way = NULL;
}
