/*
 * One entry for each watched path, with a list of watches for each kind. A watch fires once: it is
 * removed before its event is sent.
 */
#include "sim/watch.h"

#include <string.h>

#include "sim/server.h"
#include "sim/world_alloc.h"

struct watched {
    struct zr_sim_entry entry; /* first member */
    struct zr_list lists[2];   /* struct watch, by kind */
    char path[];
};

struct watch {
    struct zr_link in_path, in_conn;
    struct watched *watched;
    struct zr_sim_conn *conn;
};

static struct watched *watched_new(struct zr_sim_watches *watches, const char *path, size_t length)
{
    struct watched *watched = zr_sim_alloc(sizeof(*watched) + length + 1);
    memcpy(watched->path, path, length + 1);
    zr_list_init(&watched->lists[0]);
    zr_list_init(&watched->lists[1]);
    zr_sim_index_add(&watches->paths, &watched->entry, watched->path, length);
    return watched;
}

static void forget(struct zr_sim_watches *watches, struct watch *watch)
{
    struct watched *watched = watch->watched;
    zr_unlink(&watch->in_path);
    zr_unlink(&watch->in_conn);
    zr_sim_release(watch);
    watches->count--;
    if (!zr_list_empty(&watched->lists[0]) || !zr_list_empty(&watched->lists[1]))
        return;
    zr_sim_index_remove(&watches->paths, &watched->entry);
    zr_sim_release(watched);
}

/* The connection's own watch in a list, or null. */
static struct watch *listed(const struct zr_list *list, const struct zr_sim_conn *conn)
{
    ZR_LIST_EACH (link, list) {
        struct watch *watch = ZR_HOLDER(link, struct watch, in_path);
        if (watch->conn == conn)
            return watch;
    }
    return NULL;
}

void zr_sim_watch_add(struct zr_sim_watches *watches, const char *path, enum zr_sim_watch_kind kind,
                      struct zr_sim_conn *conn)
{
    size_t length = strlen(path);
    struct watched *watched = (struct watched *)zr_sim_index_find(&watches->paths, path, length);
    if (watched == NULL)
        watched = watched_new(watches, path, length);
    if (listed(&watched->lists[kind], conn) != NULL)
        return;
    struct watch *watch = zr_sim_alloc(sizeof(*watch));
    watch->watched = watched;
    watch->conn = conn;
    zr_list_append(&watched->lists[kind], &watch->in_path);
    zr_list_append(&conn->watches, &watch->in_conn);
    watches->count++;
}

bool zr_sim_watch_remove(struct zr_sim_watches *watches, const char *path,
                         const struct zr_sim_conn *conn)
{
    struct watched *watched =
        (struct watched *)zr_sim_index_find(&watches->paths, path, strlen(path));
    if (watched == NULL)
        return false;
    struct watch *on_data = listed(&watched->lists[ZR_SIM_DATA_WATCH], conn);
    struct watch *on_children = listed(&watched->lists[ZR_SIM_CHILD_WATCH], conn);
    if (on_data != NULL)
        forget(watches, on_data);
    if (on_children != NULL)
        forget(watches, on_children);
    return on_data != NULL || on_children != NULL;
}

/* True: the path has lost its last watch, and `watched` is gone with it. */
static bool fire_list(struct zr_sim_watches *watches, struct watched *watched,
                      enum zr_sim_watch_kind kind, enum zr_event_kind event,
                      const struct zr_sim_acl *acl)
{
    struct zr_list fired;
    zr_list_init(&fired);
    zr_list_move(&fired, &watched->lists[kind]);
    bool last = zr_list_empty(&watched->lists[!kind]);
    while (!zr_list_empty(&fired)) {
        struct watch *watch = ZR_HOLDER(zr_list_first(&fired), struct watch, in_path);
        struct zr_sim_conn *conn = watch->conn;
        if (conn->told != watches->firings && zr_sim_acl_allows(acl, ZR_READ, conn->who))
            zr_sim_conn_tell(conn, event, watched->path);
        conn->told = watches->firings;
        zr_unlink(&watch->in_path);
        zr_unlink(&watch->in_conn);
        zr_sim_release(watch);
        watches->count--;
    }
    if (last) {
        zr_sim_index_remove(&watches->paths, &watched->entry);
        zr_sim_release(watched);
    }
    return last;
}

void zr_sim_watch_fire(struct zr_sim_watches *watches, const char *path, size_t length,
                       enum zr_event_kind event, const struct zr_sim_acl *acl)
{
    struct watched *watched = (struct watched *)zr_sim_index_find(&watches->paths, path, length);
    if (watched == NULL)
        return;
    watches->firings++;
    if (event != ZR_CHILDREN_CHANGED && fire_list(watches, watched, ZR_SIM_DATA_WATCH, event, acl))
        return;
    if (event == ZR_CHILDREN_CHANGED || event == ZR_DELETED)
        fire_list(watches, watched, ZR_SIM_CHILD_WATCH, event, acl);
}

void zr_sim_watch_drop(struct zr_sim_watches *watches, struct zr_sim_conn *conn)
{
    struct zr_link *link;
    while ((link = zr_list_first(&conn->watches)) != NULL)
        forget(watches, ZR_HOLDER(link, struct watch, in_conn));
}

static void drop(struct zr_sim_entry *entry)
{
    zr_sim_release(entry);
}

void zr_sim_watches_fini(struct zr_sim_watches *watches)
{
    zr_sim_index_fini(&watches->paths, drop);
}
