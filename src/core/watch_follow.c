#include "core/call.h"
#include "core/task.h"
#include "core/watch_parts.h"

/*
 * Following the events at a path, where the followers' own requests leave watches: each such
 * request is counted while it is in flight, and its answer tells which watch it has left.
 */

/* ---- What the client keeps ----------------------------------------------------------------- */

struct zr_watch *zr_watch_sent(struct zr_session *session, const char *path)
{
    struct zr_watch *watch = zr_watch_find(session, path);
    if (watch != NULL)
        watch->out++;
    return watch;
}

/* If there was no memory for an answer, or it was too large, its request has left a watch all the
   same. */
static unsigned left_by(const struct zr_request *request)
{
    bool absent = request->op == ZR_OP_EXISTS && request->status == ZR_NO_NODE;
    bool unread =
        (request->status == ZR_NO_MEMORY || request->status == ZR_TOO_LARGE) && request->sent;
    if (request->status != ZR_OK && !absent && !unread)
        return 0;
    return request->op == ZR_OP_CHILDREN ? ZR_ON_CHILDREN : ZR_ON_NODE;
}

void zr_watch_answered(struct zr_watch *watch, int generation, const struct zr_request *request)
{
    if (watch == NULL)
        return;
    watch->out--;
    if (generation == watch->session->generation)
        watch->kept |= left_by(request);
    zr_watch_drop_if_unused(watch);
}

/* ---- Following ----------------------------------------------------------------------------- */

enum zr_status zr_watch_follow(struct zr_session *session, const char *path, int kinds, size_t most,
                               struct zr_watch **watch)
{
    enum zr_status status = zr_watch_find_or_add(session, path, kinds, most, watch);
    if (status == ZR_OK)
        (*watch)->followers++;
    else
        *watch = NULL;
    return status;
}

void zr_watch_unfollow(struct zr_watch *watch)
{
    if (watch == NULL)
        return;
    watch->followers--;
    zr_watch_drop_if_unused(watch);
}

bool zr_watch_on_node(const struct zr_watch *watch)
{
    return (watch->kept & ZR_ON_NODE) != 0;
}

static void asked(struct zr_call *call)
{
    struct zr_watch *watch = call->owner;
    zr_call_free(call);
    watch->making = NULL;
    zr_watch_drop_if_unused(watch);
}

/* True if an event will come. A watch that is being taken back counts as gone. */
static bool will_tell(const struct zr_watch *watch)
{
    return watch->making != NULL || (zr_watch_on_node(watch) && watch->removal == NULL);
}

enum zr_status zr_watch_making(struct zr_session *session, const char *path, size_t most,
                               struct zr_watch **watch)
{
    enum zr_status status = zr_watch_follow(session, path, 1, most, watch);
    if (status != ZR_OK || will_tell(*watch))
        return status;
    status = zr_call_new_full(session, ZR_OP_EXISTS, path, ZR_NO_DATA, &(*watch)->making);
    if (status != ZR_OK) {
        zr_watch_unfollow(*watch);
        *watch = NULL;
        return status;
    }
    (*watch)->making->request.watch = true;
    zr_call_start((*watch)->making, asked, *watch);
    return ZR_OK;
}

bool zr_watch_made(const struct zr_watch *watch)
{
    return watch->made;
}

int64_t zr_watch_events(const struct zr_watch *watch)
{
    return watch->events;
}

void zr_watch_await(struct zr_task *task, struct zr_watch *watch, int64_t seen)
{
    if (watch->events > seen)
        zr_task_wake(task, ZR_OK);
    else
        zr_list_append(&watch->changed.tasks, &task->in_signal);
}

/* ---- Joining ------------------------------------------------------------------------------- */

enum zr_status zr_watch_join(struct zr_session *session, const char *path, int kinds, size_t most,
                             struct zr_follower *follower)
{
    enum zr_status status = zr_watch_follow(session, path, kinds, most, &follower->watch);
    if (status == ZR_OK)
        zr_list_append(&follower->watch->joined, &follower->in_watch);
    return status;
}

void zr_watch_part(struct zr_follower *follower)
{
    struct zr_watch *watch = follower->watch;
    zr_unlink(&follower->in_watch);
    follower->watch = NULL;
    zr_watch_unfollow(watch);
}

struct zr_follower *zr_watch_next(const struct zr_watch *watch, const struct zr_follower *follower)
{
    const struct zr_link *end = &watch->joined.head;
    struct zr_link *next = follower != NULL ? follower->in_watch.next : end->next;
    return next != end ? ZR_HOLDER(next, struct zr_follower, in_watch) : NULL;
}

void zr_watch_tell(struct zr_watch *watch, unsigned used_up)
{
    ZR_LIST_EACH (link, &watch->joined) {
        struct zr_follower *follower = ZR_HOLDER(link, struct zr_follower, in_watch);
        follower->told(follower, used_up);
    }
}
