#include "core/announce.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/call.h"
#include "core/names.h"
#include "core/stem.h"

/*
 * A contender that has more than one ahead of it learns that the nearest is gone, but not why: it
 * may have held, or have given up. The first means "your turn"; the second means "look again",
 * which costs a listing of all that wait.
 *
 * 1. While it waits, it also watches a path where no znode is: "<dir>/<tag of the one ahead>-gone".
 * 2. A holder that was the head of the queue leaves with one transaction: it creates the znode at
 *    this path, deletes it again, and deletes its own. No listing ever shows the znode, and nothing
 *    is left behind. But a watch on its path fires.
 * 3. The event CREATED comes just before the event DELETED of the node ahead. So whoever has seen
 *    it knows that the one ahead was the head, and is gone.
 *
 * Only CREATED proves that: a transaction is done as a whole or not at all, a tag is never given
 * twice, and only its owner announces it. All other events, and an event that is lost, prove
 * nothing: the contender lists.
 *
 * What can go wrong: the connection is lost, and with it the event: the client asks again only
 * whether a znode is there now. The transaction is refused (the holder may not create), or its
 * answer is lost: a plain delete follows (vacate.c).
 */

/* Contenders can do without, so nearly all of the room is for watches that are needed. */
#define WATCHED_BYTES 100000

/* The path for the contender with this name; null: it makes no announcements, or memory is
   exhausted. */
static char *path_for(const char *dir, const char *name)
{
    size_t tag = zr_tag_length(name), size = strlen(dir) + 1 + tag + sizeof("gone");
    char *path = tag > 0 ? zr_alloc(size) : NULL;
    if (path != NULL)
        snprintf(path, size, "%s/%.*sgone", strlen(dir) == 1 ? "" : dir, (int)tag, name);
    return path;
}

enum zr_status zr_announce_new(const struct zr_seat *seat, struct zr_call **call)
{
    const char *namespace = seat->session->namespace;
    char *path = seat->stem != NULL ? path_for(seat->dir, strrchr(seat->path, '/') + 1) : NULL;
    if (path == NULL)
        return seat->stem != NULL ? ZR_NO_MEMORY : ZR_BAD_ARGUMENTS;
    struct zr_request parts[] = {
        {.op = ZR_OP_CREATE, .path = zr_path_inside(namespace, path)},
        {.op = ZR_OP_DELETE, .path = zr_path_inside(namespace, path), .version = ZR_ANY_VERSION},
        {.op = ZR_OP_DELETE,
         .path = zr_path_inside(namespace, seat->path),
         .version = ZR_ANY_VERSION},
    };
    enum zr_status status = zr_call_new_multi(seat->session, NULL, parts, 3, call);
    zr_free(path);
    return status;
}

void zr_announce_follow(struct zr_session *session, const char *dir, const char *name,
                        struct zr_watch **watch)
{
    char *path = zr_session_tagged(session, name) ? NULL : path_for(dir, name);
    *watch = NULL;
    if (path != NULL)
        zr_watch_making(session, path, WATCHED_BYTES, watch);
    zr_free(path);
}

bool zr_announce_end(struct zr_watch **watch)
{
    bool announced = *watch != NULL && zr_watch_made(*watch);
    zr_watch_unfollow(*watch);
    *watch = NULL;
    return announced;
}
