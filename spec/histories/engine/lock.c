/*
 * lock.c: the fair lock in histories. There is at most one holder at any instant. Tokens grow. The
 * oldest contender is granted first. A try fails only if there was another contender.
 */
#include "lock.h"

#include "recipes/lock.h"

/* ---- How it is used ------------------------------------------------------------------------ */

static enum zr_status make_lock(struct process *process)
{
    struct zr_lock_options choice = {.data = {roll(2) == 0 ? "owner" : NULL, 5}};
    choice.data.length = choice.data.at != NULL ? 5 : 0;
    return make_object(process, "lock", "/l", &choice);
}

enum zr_status start_lock(struct contender *contender, struct zr_args *args)
{
    return start(contender->process->object, "acquire", args, &contender->task);
}

const struct script lock_scripts[LOCK_SCRIPTS] = {
    {.limit_us = -1},     /* acquires */
    {.limit_us = 0},      /* tries */
    {.limit_us = 3 * MS}, /* has a time limit */
    {.limit_us = -1, .gives_up = true},
};

/* ---- What must hold ------------------------------------------------------------------------ */

void lock_granted(const struct contender *contender, const struct zr_hold *hold)
{
    youngest_grant(hold);
    nobody_before(contender, hold, "");
}

bool lock_may_fail(int mode, const struct zr_seat *own)
{
    (void)mode;
    return others(own, "") > 0;
}

/* A waiter sends a create, a list and a read with a watch. If the contender just ahead held the
   lock when the waiter listed, the hand-over costs the waiter nothing more; otherwise it lists
   again. No other waiter is woken. When a waiter gives up, the one just behind it lists again. */
static void spend_waiting(void)
{
    struct zr_object *hold = acquire_calmly(0, SECOND);
    count_from_here();
    struct zr_task *next = begin_calmly(1, 0, -1), *middle = begin_calmly(2, 0, -1);
    struct zr_task *last = begin_calmly(0, 0, -1);
    spent("three that wait", (struct requests){.creates = 3, .lists = 3, .gets = 3, .looks = 2});
    give_up_calmly(middle);
    spent("one gives up", (struct requests){.deletes = 1, .lists = 1, .gets = 1, .looks = 1});
    release_calmly(hold);
    spent("a hand-over", (struct requests){.deletes = 1});
    release_calmly(end_calmly(next));
    spent("a later hand-over", (struct requests){.multis = 1});
    release_calmly(end_calmly(last));
}

void spend_lock(void)
{
    release_calmly(acquire_calmly(0, SECOND)); /* this also creates the directory */
    count_from_here();
    struct zr_object *hold = acquire_calmly(0, SECOND);
    spent("acquire", (struct requests){.creates = 1, .lists = 1});
    if (acquire_calmly(0, 0) != NULL)
        wrong("a try took a lock that is held");
    spent("a try in vain", (struct requests){.lists = 1});
    release_calmly(hold);
    spent("release", (struct requests){.deletes = 1});
    hold = acquire_calmly(0, 0);
    spent("try", (struct requests){.creates = 1, .lists = 2});
    release_calmly(hold);
    spend_waiting();
}

const struct recipe lock_recipe = {
    .name = "lock",
    .histories = 100000,
    .dir = "/n/l",
    .make = make_lock,
    .modes = 1,
    .start = start_lock,
    .cancel = "cancel",
    .release = "release",
    .excludes = {true},
    .scripts = lock_scripts,
    .script_count = LOCK_SCRIPTS,
    .three = LOCK_SCRIPTS,
    .granted = lock_granted,
    .held = one_at_a_time,
    .may_fail = lock_may_fail,
    .may_end_with = usual_end,
    .requests = 8,
    .spend = spend_lock,
};
