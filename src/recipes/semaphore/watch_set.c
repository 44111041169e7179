#include "recipes/semaphore/watch_set.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"

/*
 * A member of the set is a task without a waiter:
 * 1. It waits until its seat is gone. Or it reads the data, which leaves a watch, and waits for the
 *    event; if the data have changed already, it does not wait.
 * 2. It ends, and reports that, also if it ends because memory is exhausted or access is denied.
 *
 * An event of a connection comes before the answers and events of all that the servers do later. So
 * while there is none, the data are the same at each moment that is known. But after a reconnect
 * the events that were missed come in any order: then the data count as changed. These events come
 * before the session counts as connected.
 *
 * What can go wrong: the session is lost; that wakes the waiting task as well. A watch stays behind
 * when its member is removed: if it waits for the end of a node, the next member uses it.
 */

struct member {
    struct zr_task task;
    struct zr_watch_set *set; /* null: removed */
    struct zr_link in_set;
    const char *dir;        /* borrowed while it starts */
    char *path;             /* the seat's name, or, with a watch, the path */
    struct zr_watch *watch; /* on the data, followed, or null */
    union {
        struct { /* of the seat: */
            int64_t permits;
            bool begun;
        };
        struct { /* of the data: */
            int64_t events, mzxid;
            uint16_t connections; /* when they were read */
            bool known;           /* they were read, and are those of mzxid */
        };
    };
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

/* If the member was removed, nobody wants to know. */
static void same_data(struct member *member, const struct zr_stat *stat)
{
    struct zr_watch_set *set = member->set;
    member->known = true;
    member->connections = member->task.session->connections;
    if (set == NULL)
        return;
    set->children = (size_t)stat->child_count;
    zr_signal_fire(&set->moved, ZR_OK);
}

static void was_read(struct zr_task *task)
{
    struct member *member = of(task);
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE) {
        zr_verb_fail(task, task->outcome);
    } else if (task->outcome == ZR_NO_NODE || task->call->request.stat.mzxid != member->mzxid) {
        zr_task_finish(task, ZR_OK);
    } else {
        same_data(member, &task->call->request.stat);
        zr_verb_await_change(task, member->watch, member->events, ZR_STEP(moved));
    }
}

static void read_data(struct zr_task *task)
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

static void leave(struct member *member)
{
    struct zr_watch_set *set = member->set;
    zr_unlink(&member->in_set);
    member->set = NULL;
    if (set == NULL || member->watch != NULL)
        return;
    set->count--;
    set->permits -= member->permits;
}

static void ended(struct zr_task *task)
{
    struct member *member = of(task);
    struct zr_watch_set *set = member->set;
    enum zr_status status = task->status;
    leave(member);
    if (set != NULL && status == ZR_CONFLICT) {
        zr_free(set->in_the_way);
        set->in_the_way = member->path;
        member->path = NULL;
    }
    free_member(member);
    if (set == NULL)
        return;
    if (status != ZR_OK)
        set->failed = status;
    zr_signal_fire(&set->moved, ZR_OK);
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

static void add_member(struct zr_watch_set *set, struct member *member)
{
    member->set = set;
    zr_list_append(&set->members, &member->in_set);
}

static void start_member(struct member *member, struct zr_next first)
{
    struct zr_watch_set *set = member->set;
    zr_task_start(&member->task, &kind, set->session, set->subject, -1, first);
    zr_task_detach(&member->task);
}

enum zr_status zr_watch_set_add_seat(struct zr_watch_set *set, const char *name, int64_t permits)
{
    struct member *member = new_member(name);
    if (member == NULL)
        return ZR_NO_MEMORY;
    member->permits = permits;
    set->added++;
    set->count++;
    set->permits += permits;
    add_member(set, member);
    return ZR_OK;
}

void zr_watch_set_begin(struct zr_watch_set *set, const char *dir)
{
    ZR_LIST_EACH (link, &set->members) {
        struct member *member = ZR_HOLDER(link, struct member, in_set);
        if (member->watch != NULL || member->begun)
            continue;
        member->begun = true;
        member->dir = dir;
        start_member(member, ZR_STEP(await_gone));
    }
}

/* The member for the data; null: there is none. It is always the first one. */
static struct member *data_of(const struct zr_watch_set *set)
{
    struct zr_link *first = zr_list_first(&set->members);
    struct member *member = first != NULL ? ZR_HOLDER(first, struct member, in_set) : NULL;
    return member != NULL && member->watch != NULL ? member : NULL;
}

enum zr_watch_data zr_watch_set_data(const struct zr_watch_set *set, int64_t mzxid)
{
    const struct member *data = data_of(set);
    if (data == NULL || data->mzxid != mzxid)
        return ZR_DATA_CHANGED;
    if (!data->known)
        return ZR_DATA_UNKNOWN;
    bool same = zr_watch_events(data->watch) == data->events &&
                set->session->state == ZR_CONNECTED &&
                data->connections == set->session->connections;
    return same ? ZR_DATA_SAME : ZR_DATA_CHANGED;
}

static void remove_member(struct member *member)
{
    leave(member);
    if (member->watch != NULL || member->begun)
        zr_task_interrupt(&member->task, ZR_CANCELED);
    else
        free_member(member);
}

enum zr_status zr_watch_set_add_data(struct zr_watch_set *set, const char *dir, int64_t mzxid)
{
    struct member *member = data_of(set);
    if (zr_watch_set_data(set, mzxid) != ZR_DATA_CHANGED)
        return ZR_OK;
    if (member != NULL)
        remove_member(member);
    member = new_member(dir);
    if (member == NULL)
        return ZR_NO_MEMORY;
    member->mzxid = mzxid;
    enum zr_status status =
        zr_watch_follow(set->session, dir, 1, ZR_WATCHED_BYTES_COMMON, &member->watch);
    if (status != ZR_OK) {
        free_member(member);
        return status;
    }
    add_member(set, member);
    start_member(member, ZR_STEP(read_data));
    return ZR_OK;
}

const char *zr_watch_set_next(const struct zr_watch_set *set, const struct zr_link **at)
{
    const struct zr_link *end = &set->members.head;
    const struct zr_link *next = *at != NULL ? (*at)->next : end->next;
    if (next != end && ZR_HOLDER(next, const struct member, in_set)->watch != NULL)
        next = next->next;
    *at = next;
    return next != end ? ZR_HOLDER(next, const struct member, in_set)->path : NULL;
}

static void remove_members(struct zr_watch_set *set, bool all)
{
    ZR_LIST_EACH (link, &set->members) {
        struct member *member = ZR_HOLDER(link, struct member, in_set);
        if (member->watch == NULL || all)
            remove_member(member);
    }
    set->failed = ZR_OK;
}

void zr_watch_set_remove_seats(struct zr_watch_set *set)
{
    remove_members(set, false);
    set->added = 0;
}

void zr_watch_set_clear(struct zr_watch_set *set)
{
    remove_members(set, true);
    zr_free(set->in_the_way);
    set->in_the_way = NULL;
}
