#include "core/listing.h"

#include <string.h>

#include "core/alloc.h"
#include "core/call.h"
#include "core/strangers.h"
#include "core/task.h"

/*
 * 1. The first task that asks for a directory sends the request and waits in `current`.
 * 2. A task that asks while the request is in flight waits in `following`: it cannot use that
 *    answer, which may be older than its own create.
 * 3. The answer wakes `current` with one shared, sorted list. If a task waits in `following`, the
 *    request is sent again.
 */

struct listing {
    struct zr_node node;
    struct zr_session *session;
    struct zr_signal current, following;
    struct zr_call *call;
    char dir[];
};

static void drop_listing(struct listing *listing)
{
    zr_table_remove(&listing->session->listings, &listing->node);
    zr_call_free(listing->call);
    zr_free(listing);
}

/* Wakes the tasks that wait for this answer. */
static void answer(struct listing *listing, struct zr_seats *seats, enum zr_status outcome)
{
    struct zr_link *link;
    while ((link = zr_list_shift(&listing->current.tasks)) != NULL) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        if (seats != NULL) {
            seats->refs++;
            zr_seats_unref(task->seats);
            task->seats = seats;
        }
        zr_task_explain_answer(task, outcome);
        zr_task_wake(task, outcome);
    }
}

static void listed(struct zr_call *call)
{
    struct listing *listing = call->owner;
    enum zr_status outcome = call->request.status;
    if (outcome == ZR_CONNECTION_LOSS) {
        zr_call_again(call);
        return;
    }
    struct zr_seats *seats =
        outcome == ZR_OK ? zr_seats_new(listing->session->engine->recipes, call->request.names)
                         : NULL;
    if (seats != NULL) {
        call->request.names = NULL;
        zr_strangers_leave_out(listing->session, listing->dir, seats);
        seats->stat = call->request.stat;
    } else if (outcome == ZR_OK)
        outcome = ZR_NO_MEMORY;
    answer(listing, seats, outcome);
    zr_seats_unref(seats);
    if (zr_list_empty(&listing->following.tasks)) {
        drop_listing(listing);
        return;
    }
    zr_list_move(&listing->current.tasks, &listing->following.tasks);
    zr_call_again(call);
}

static struct listing *new_listing(struct zr_session *session, const char *dir)
{
    struct listing *listing = zr_alloc(sizeof(*listing) + strlen(dir) + 1);
    if (listing == NULL)
        return NULL;
    strcpy(listing->dir, dir);
    listing->session = session;
    zr_signal_init(&listing->current);
    zr_signal_init(&listing->following);
    enum zr_status status =
        zr_call_new_full(session, ZR_OP_CHILDREN, dir, ZR_NO_DATA, &listing->call);
    if (status == ZR_OK)
        status = zr_table_add(&session->listings, &listing->node, listing->dir);
    if (status == ZR_OK)
        return listing;
    zr_call_free(listing->call);
    zr_free(listing);
    return NULL;
}

enum zr_status zr_listing_ask(struct zr_task *task, const char *dir)
{
    struct zr_node *node = zr_table_find(&task->session->listings, dir);
    task->asking = true;
    if (node != NULL) {
        struct listing *running = ZR_HOLDER(node, struct listing, node);
        zr_list_append(&running->following.tasks, &task->in_signal);
        return ZR_OK;
    }
    struct listing *listing = new_listing(task->session, dir);
    if (listing == NULL)
        return ZR_NO_MEMORY;
    zr_list_append(&listing->current.tasks, &task->in_signal);
    zr_call_start(listing->call, listed, listing);
    return ZR_OK;
}

void zr_listings_drop(struct zr_session *session, enum zr_status why)
{
    struct zr_node *node;
    while ((node = zr_table_any(&session->listings)) != NULL) {
        struct listing *listing = ZR_HOLDER(node, struct listing, node);
        zr_signal_fire(&listing->current, why);
        zr_signal_fire(&listing->following, why);
        drop_listing(listing);
    }
}
