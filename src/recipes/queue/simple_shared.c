#include "core/alloc.h"
#include "recipes/queue/simple.h"

/*
 * What all takes of a process share: the names that were listed last, and, while some of them wait,
 * one that follows the directory for all. See simple_take.c.
 */

#define FRESH_US 2000000

void zr_simple_set_names(struct zr_simple *simple, struct zr_names *names)
{
    zr_free(simple->names);
    simple->names = names;
    simple->next = 0;
    simple->fresh_until_us = zr_engine_now_us(simple->znode.session->engine) + FRESH_US;
}

bool zr_simple_has_name(const struct zr_simple *simple)
{
    return simple->names != NULL && simple->next < simple->names->count;
}

void zr_simple_happened(struct zr_simple *simple)
{
    simple->events++;
    zr_signal_fire(&simple->news, ZR_OK);
}

static void told(struct zr_follower *follower, unsigned used_up)
{
    (void)used_up;
    zr_simple_happened(ZR_HOLDER(follower, struct zr_simple, follower));
}

enum zr_status zr_simple_follow(struct zr_simple *simple)
{
    enum zr_status status = ZR_OK;
    simple->follower.told = told;
    if (simple->waiting == 0)
        status = zr_watch_join(simple->znode.session, simple->znode.full, 2,
                               ZR_WATCHED_BYTES_COMMON, &simple->follower);
    simple->waiting += status == ZR_OK;
    return status;
}

void zr_simple_unfollow(struct zr_simple *simple)
{
    if (--simple->waiting > 0)
        return;
    simple->watched = false;
    zr_watch_part(&simple->follower);
}
