#include "core/call.h"
#include "core/task.h"
#include "core/watch_parts.h"

/*
 * An event has come: it has used up the watch, and wakes the followers of its path. Tasks that wait
 * for the end of the node are woken if it is gone; otherwise it is read again (watch_gone.c).
 *
 * What can go wrong: the connection is lost: the client registers its watches again by itself and
 * reports the changes that it missed. An event is lost because memory is exhausted: then every task
 * that waits looks again.
 */

static unsigned used_up_by(enum zr_event_kind kind)
{
    return kind == ZR_DELETED            ? ZR_ON_NODE | ZR_ON_CHILDREN
           : kind == ZR_CHILDREN_CHANGED ? ZR_ON_CHILDREN
                                         : ZR_ON_NODE;
}

static void fire(struct zr_watch *watch, enum zr_event_kind kind, unsigned used_up)
{
    watch->events++;
    watch->made = watch->made || kind == ZR_CREATED;
    watch->kept &= ~used_up;
    if (kind != ZR_CHILDREN_CHANGED)
        zr_unlink(&watch->absent);
    zr_signal_fire(&watch->changed, ZR_OK);
    zr_watch_tell(watch, used_up != 0 ? used_up : ZR_ON_NODE | ZR_ON_CHILDREN);
    /* An event of the children leaves the watch on the node itself in place. */
    if (kind != ZR_CHILDREN_CHANGED)
        watch->set = false;
    enum zr_status status = kind == ZR_DELETED ? ZR_OK : zr_watch_look(watch);
    if (kind == ZR_DELETED || status != ZR_OK)
        zr_signal_fire(&watch->gone, status);
    zr_presence_event(watch, kind);
    zr_watch_drop_if_unused(watch);
}

/* Memory was exhausted when an event came, so its path is unknown. Which watches the client still
   keeps is found out when they are removed. */
static void fire_all(struct zr_session *session)
{
    const struct zr_table *all = &session->watches;
    for (size_t i = 0; i < all->size; i++)
        for (struct zr_node *node = all->buckets[i], *next; node != NULL; node = next) {
            next = node->next;
            struct zr_watch *watch = ZR_HOLDER(node, struct zr_watch, node);
            fire(watch, ZR_CHANGED, 0);
        }
}

void zr_watch_event(struct zr_session *session, const char *path, enum zr_event_kind kind)
{
    if (path == NULL) {
        fire_all(session);
        return;
    }
    struct zr_watch *watch = zr_watch_find(session, path);
    if (watch != NULL)
        fire(watch, kind, used_up_by(kind));
}

/* The server's watches are gone; followers look again, on the next session. */
static void drop_for(struct zr_watch *watch, enum zr_status why)
{
    zr_call_free(watch->call);
    zr_call_free(watch->making);
    zr_call_free(watch->removal);
    watch->call = watch->making = watch->removal = NULL;
    watch->set = false;
    watch->kept = 0;
    zr_unlink(&watch->absent);
    watch->events++;
    zr_signal_fire(&watch->gone, why);
    zr_signal_fire(&watch->changed, ZR_OK);
    zr_watch_tell(watch, ZR_ON_NODE | ZR_ON_CHILDREN);
    zr_presence_over(watch, why);
    zr_watch_drop_if_unused(watch);
}

void zr_watches_drop(struct zr_session *session, enum zr_status why)
{
    const struct zr_table *all = &session->watches;
    for (size_t i = 0; i < all->size; i++)
        for (struct zr_node *node = all->buckets[i], *next; node != NULL; node = next) {
            next = node->next;
            drop_for(ZR_HOLDER(node, struct zr_watch, node), why);
        }
}
