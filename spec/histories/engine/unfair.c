/*
 * unfair.c: the unfair lock in histories. There is at most one holder at any instant. Tokens grow.
 * A try fails only if there was another contender. There is no order of contenders.
 */
#include "lock.h"

#include "recipes/lock.h"

#define UNFAIR_NODE "/n/u/l"

/* ---- How it is used ------------------------------------------------------------------------ */

static enum zr_status make_unfair(struct process *process)
{
    struct zr_lock_options choice = {.data = {"owner", 5}, .unfair = true};
    return make_object(process, "lock", "/u/l", &choice);
}

/* ---- What must hold ------------------------------------------------------------------------ */

static void unfair_granted(const struct contender *contender, const struct zr_hold *hold)
{
    (void)contender;
    youngest_grant(hold);
}

/* True if another session's znode exists, or another contender of the same session has a seat. */
static bool unfair_may_fail(int mode, const struct zr_seat *own)
{
    struct zr_stat stat;
    (void)mode;
    const struct zr_seat *local = own != NULL ? zr_seat_find(own->session, UNFAIR_NODE) : NULL;
    if (local != NULL && local != own)
        return true;
    return zr_sim_stat(now.world, UNFAIR_NODE, &stat) &&
           (own == NULL || stat.ephemeral_owner != own->session->id);
}

/* A free lock costs a create. Its release costs a read, a sync and a delete. A try that fails costs
   one read. */
static void spend_unfair(void)
{
    release_calmly(acquire_calmly(0, SECOND)); /* this also creates the directory */
    count_from_here();
    struct zr_object *hold = acquire_calmly(0, SECOND);
    spent("acquire", (struct requests){.creates = 1});
    if (acquire_calmly(0, 0) != NULL)
        wrong("a try took a lock that is held");
    spent("a try in vain", (struct requests){.looks = 1});
    release_calmly(hold);
    spent("release", (struct requests){.deletes = 1, .looks = 1, .syncs = 1});
    hold = acquire_calmly(0, 0);
    spent("try", (struct requests){.creates = 1, .looks = 1});
    release_calmly(hold);
}

const struct recipe unfair_recipe = {
    .name = "unfair",
    .histories = 20000,
    .dir = "/n/u",
    .make = make_unfair,
    .modes = 1,
    .start = start_lock,
    .cancel = "cancel",
    .release = "release",
    .excludes = {true},
    .scripts = lock_scripts,
    .script_count = LOCK_SCRIPTS,
    .granted = unfair_granted,
    .held = one_at_a_time,
    .may_fail = unfair_may_fail,
    .may_end_with = usual_end,
    .requests = 8,
    .spend = spend_unfair,
};
