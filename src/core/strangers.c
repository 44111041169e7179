/*
 * 1. An attempt waits for a znode with an unusual name, or tries to pass it: the znode is suspected
 *    and followed.
 * 2. If the read says that it is not ephemeral, it is ignored: listings leave it out.
 * 3. It is forgotten if an event says that it has changed, if the session is a new one, or if no
 *    listing has shown it for a while. The next attempt reads it again.
 *
 * What can go wrong: there are too many strangers, or memory is exhausted: then the strangers
 * that are not ignored block the attempts as contenders do.
 */
#include "core/strangers.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/task.h"
#include "core/watch.h"

/* Longer than an attempt takes until its next listing, even on slow servers. */
#define IDLE_US 20000000

/* Bytes of paths: strangers leave room for the session's other watches. */
#define BYTES_MAX 100000

struct stranger {
    struct zr_node node;   /* its key is the path */
    struct zr_link in_use; /* in the session's list; the stranger that was met last is at its end */
    int64_t met_us;        /* when an attempt or a listing met it last */
    struct zr_watch *watch; /* followed */
    bool ignored;           /* false: it is suspected, and its read is in flight */
    char path[];
};

static struct stranger *find(const struct zr_session *session, const char *path)
{
    struct zr_node *node = zr_table_find(&session->strangers, path);
    return node != NULL ? ZR_HOLDER(node, struct stranger, node) : NULL;
}

static void forget(struct zr_session *session, struct stranger *stranger)
{
    session->stranger_bytes -= strlen(stranger->path);
    zr_table_remove(&session->strangers, &stranger->node);
    zr_unlink(&stranger->in_use);
    zr_watch_unfollow(stranger->watch);
    zr_free(stranger);
}

static struct stranger *longest_unmet(const struct zr_session *session)
{
    struct zr_link *first = zr_list_first(&session->strangers_met);
    return first != NULL ? ZR_HOLDER(first, struct stranger, in_use) : NULL;
}

static void forget_unmet(struct zr_timer *timer)
{
    struct zr_session *session = ZR_HOLDER(timer, struct zr_session, strangers_due);
    int64_t now_us = zr_engine_now_us(session->engine);
    struct stranger *stranger;
    while ((stranger = longest_unmet(session)) != NULL && stranger->met_us + IDLE_US <= now_us)
        forget(session, stranger);
    if (stranger != NULL)
        zr_timer_start(&session->engine->timers, timer, stranger->met_us + IDLE_US, forget_unmet);
}

static void meet(struct zr_session *session, struct stranger *stranger)
{
    stranger->met_us = zr_engine_now_us(session->engine);
    zr_unlink(&stranger->in_use);
    zr_list_append(&session->strangers_met, &stranger->in_use);
    zr_timer_start(&session->engine->timers, &session->strangers_due,
                   longest_unmet(session)->met_us + IDLE_US, forget_unmet);
}

static struct stranger *add(struct zr_session *session, const char *path)
{
    size_t length = strlen(path);
    if (session->stranger_bytes + length > BYTES_MAX)
        return NULL;
    struct stranger *stranger = zr_alloc(sizeof *stranger + length + 1);
    if (stranger == NULL)
        return NULL;
    memcpy(stranger->path, path, length);
    if (zr_watch_follow(session, path, 1, ZR_WATCHED_BYTES_MAX, &stranger->watch) == ZR_OK &&
        zr_table_add(&session->strangers, &stranger->node, stranger->path) == ZR_OK) {
        session->stranger_bytes += length;
        return stranger;
    }
    zr_watch_unfollow(stranger->watch);
    zr_free(stranger);
    return NULL;
}

bool zr_stranger_suspected(struct zr_session *session, const char *path)
{
    if (zr_is_usual(session->engine->recipes, strrchr(path, '/') + 1))
        return false;
    struct stranger *stranger = find(session, path);
    if (stranger == NULL)
        stranger = add(session, path);
    if (stranger != NULL)
        meet(session, stranger);
    return stranger != NULL;
}

void zr_stranger_ignored(struct zr_session *session, const char *path)
{
    struct stranger *stranger = find(session, path);
    if (stranger != NULL && zr_watch_on_node(stranger->watch))
        stranger->ignored = true;
}

void zr_stranger_blamed(struct zr_task *task, const char *path)
{
    zr_task_explain(task,
                    "the znode %s is ahead and is not ephemeral, so no session's end deletes it; "
                    "delete it if no client uses it",
                    zr_path_inside(task->session->namespace, path));
}

static bool is_ignored(struct zr_session *session, const char *dir, const char *name)
{
    char *path = zr_path_child(dir, name);
    struct stranger *stranger = path != NULL ? find(session, path) : NULL;
    zr_free(path);
    if (stranger == NULL || !stranger->ignored)
        return false;
    meet(session, stranger);
    return true;
}

static const char *first_foreign(struct zr_session *session, const char *dir,
                                 const struct zr_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        if (zr_is_foreign(session->engine->recipes, names->at[i]) &&
            !is_ignored(session, dir, names->at[i]))
            return names->at[i];
    return NULL;
}

void zr_strangers_leave_out(struct zr_session *session, const char *dir, struct zr_seats *seats)
{
    if (session->strangers.count == 0)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < seats->count; i++)
        if (zr_is_usual(session->engine->recipes, seats->at[i].name) ||
            !is_ignored(session, dir, seats->at[i].name))
            seats->at[kept++] = seats->at[i];
    seats->count = kept;
    if (seats->foreign != NULL)
        seats->foreign = first_foreign(session, dir, seats->names);
}

void zr_strangers_doubt(struct zr_session *session, const char *path)
{
    struct stranger *stranger;
    if (path != NULL && (stranger = find(session, path)) != NULL)
        forget(session, stranger);
    while (path == NULL && (stranger = longest_unmet(session)) != NULL)
        forget(session, stranger);
}

void zr_strangers_fini(struct zr_session *session)
{
    zr_strangers_doubt(session, NULL);
    zr_timer_stop(&session->engine->timers, &session->strangers_due);
    zr_table_fini(&session->strangers);
}
