/*
 * 1. Somebody waits for a znode, or tries to pass it, and finds it not ephemeral. If its name is
 *    unusual it is noted here, and as good as gone. 2. Listings leave it out. 3. An event says that
 *    it has changed, or the session is another one: the note is no longer believed, and the next
 *    waiter looks again.
 *
 * What can go wrong: there are very many, or no memory: then they stand in the way.
 */
#include "core/strangers.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/watch.h"

#define MOST 200 /* of one session */

static const char text[] = "the znode %s in its way is not ephemeral, no session's end will remove "
                           "it; delete it if nobody holds anything by it";

struct stranger {
    struct zr_node node;    /* its key is the path */
    struct zr_watch *watch; /* kept while it is ignored, else null */
    char *path, *detail;
};

static struct stranger *find(const struct zr_session *session, const char *path)
{
    struct zr_node *node = zr_table_find(&session->strangers, path);
    return node != NULL ? ZR_HOLDER(node, struct stranger, node) : NULL;
}

static void free_stranger(struct stranger *stranger)
{
    zr_free(stranger->path);
    zr_free(stranger->detail);
    zr_free(stranger);
}

static char *detail_of(const struct zr_session *session, const char *path)
{
    const char *inside = zr_path_inside(session->namespace, path);
    size_t size = sizeof text + strlen(inside);
    char *detail = zr_alloc(size);
    if (detail != NULL)
        snprintf(detail, size, text, inside);
    return detail;
}

static struct stranger *find_or_add(struct zr_session *session, const char *path)
{
    struct stranger *stranger = find(session, path);
    if (stranger != NULL || session->strangers.count >= MOST)
        return stranger;
    stranger = zr_alloc(sizeof *stranger);
    if (stranger == NULL)
        return NULL;
    stranger->path = zr_copy_string(path);
    stranger->detail = detail_of(session, path);
    if (stranger->path != NULL && stranger->detail != NULL &&
        zr_table_add(&session->strangers, &stranger->node, stranger->path) == ZR_OK)
        return stranger;
    free_stranger(stranger);
    return NULL;
}

bool zr_stranger_ignored(struct zr_session *session, const char *path)
{
    if (zr_is_usual(strrchr(path, '/') + 1))
        return false;
    struct stranger *stranger = find_or_add(session, path);
    if (stranger != NULL && stranger->watch == NULL)
        zr_watch_follow(session, stranger->path, &stranger->watch);
    return stranger != NULL && stranger->watch != NULL;
}

const char *zr_stranger_blamed(struct zr_session *session, const char *path)
{
    const struct stranger *stranger = find_or_add(session, path);
    return stranger != NULL
               ? stranger->detail
               : "a znode in its way is not ephemeral, no session's end will remove it";
}

static bool is_ignored(const struct zr_session *session, const char *dir, const char *name)
{
    char *path = zr_path_child(dir, name);
    const struct stranger *stranger = path != NULL ? find(session, path) : NULL;
    zr_free(path);
    return stranger != NULL && stranger->watch != NULL;
}

void zr_strangers_leave_out(const struct zr_session *session, const char *dir,
                            struct zr_seats *seats)
{
    if (session->strangers.count == 0)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < seats->count; i++)
        if (zr_is_usual(seats->at[i].name) || !is_ignored(session, dir, seats->at[i].name))
            seats->at[kept++] = seats->at[i];
    seats->count = kept;
}

static void doubt(struct stranger *stranger)
{
    zr_watch_unfollow(stranger->watch);
    stranger->watch = NULL;
}

void zr_strangers_doubt(struct zr_session *session, const char *path)
{
    struct zr_table *all = &session->strangers;
    struct stranger *stranger = path != NULL && all->count > 0 ? find(session, path) : NULL;
    if (stranger != NULL)
        doubt(stranger);
    for (size_t i = 0; path == NULL && i < all->size; i++)
        for (struct zr_node *node = all->buckets[i]; node != NULL; node = node->next)
            doubt(ZR_HOLDER(node, struct stranger, node));
}

void zr_strangers_fini(struct zr_session *session)
{
    struct zr_node *node;
    while ((node = zr_table_any(&session->strangers)) != NULL) {
        zr_table_remove(&session->strangers, node);
        doubt(ZR_HOLDER(node, struct stranger, node));
        free_stranger(ZR_HOLDER(node, struct stranger, node));
    }
    zr_table_fini(&session->strangers);
}
