/*
 * rwlock.c: the read/write lock in histories. At any instant there is either one writer alone or
 * any number of readers. No contender is granted before an older one that conflicts with it. A
 * writer that downgrades counts as a reader from the call on, also if the call fails.
 */
#include "budget.h"

#include "recipes/rwlock/sharing.h"

enum { READ, WRITE };

/* ---- How it is used ------------------------------------------------------------------------ */

static enum zr_status make_rwlock(struct process *process)
{
    struct zr_bytes data = {roll(2) == 0 ? "owner" : NULL, 5};
    data.length = data.at != NULL ? 5 : 0;
    return make_object(process, "rwlock", "/rw", &data);
}

static enum zr_status start_rwlock(struct contender *contender, struct zr_args *args)
{
    const char *way = contender->mode == READ ? "read" : "write";
    return start(contender->process->object, way, args, &contender->task);
}

static void look_for_mark(void *with, const struct zr_sim_view *view)
{
    bool *found = with;
    *found = zr_marked(view->data, view->stat.czxid) || strstr(view->path, "__READ__") != NULL;
}

static bool shares(const char *path)
{
    bool found = false;
    zr_sim_walk(now.world, path, look_for_mark, &found);
    return found;
}

/* In one of four cases the task is dropped. */
static enum zr_status downgrade(struct contender *contender)
{
    struct zr_args none = {0};
    contender->mode = READ;
    enum zr_status status = start(contender->hold, "downgrade", &none, &contender->question);
    if (status != ZR_OK || roll(4) > 0)
        return status;
    struct zr_task *task = contender->question;
    contender->question = NULL;
    zr_task_drop(task, false);
    return ZR_CANCELED;
}

/* A downgrade ends with success, or because the session is over or memory is exhausted. */
static void downgraded(const struct contender *contender, enum zr_status status)
{
    const struct zr_hold *hold = hold_of(contender);
    bool without = status == ZR_LOST || status == ZR_CLOSED ||
                   (status == ZR_NO_MEMORY && ran_out(contender->failures));
    if (status != ZR_OK && !without)
        wrong("a downgrade ends with %s", zr_status_word(status));
    if (status == ZR_OK && check_valid(contender) && !shares(hold->seat.path))
        wrong("%s was downgraded, but says nothing of it", hold->seat.path);
}

static const struct script rwlock_scripts[] = {
    {.mode = READ, .limit_us = -1},
    {.mode = WRITE, .limit_us = -1},
    {.mode = READ, .limit_us = 0},
    {.mode = WRITE, .limit_us = 3 * MS},
    {.mode = READ, .limit_us = -1, .gives_up = true},
    {.mode = WRITE, .limit_us = -1, .gives_up = true},
};

/* ---- What must hold ------------------------------------------------------------------------ */

/* Counts writers that have not downgraded. */
static void count_unshared(void *with, const struct zr_sim_view *view)
{
    if (strstr(view->path, "__WRIT__") != NULL && !zr_marked(view->data, view->stat.czxid))
        count_node(with, view);
}

static int unshared(const struct zr_seat *own, int64_t before)
{
    struct census census = {own, "", before, 0};
    zr_sim_walk(now.world, now.recipe->dir, count_unshared, &census);
    return census.count;
}

static void rwlock_granted(const struct contender *contender, const struct zr_hold *hold)
{
    int64_t token = hold->seat.czxid;
    if (contender->mode == WRITE) {
        youngest_grant(hold);
        nobody_before(contender, hold, "");
        now.alone = token;
        return;
    }
    if (token <= now.alone)
        wrong("reader %llx was granted after writer %llx", (long long)token, (long long)now.alone);
    if (unshared(NULL, token) > 0)
        wrong("%d.%d was granted before a writer who came first", contender->process->number,
              contender->number);
    now.token = token > now.token ? token : now.token;
}

static void rwlock_held(struct contender *const *holders, int count)
{
    for (int i = 0; i < count; i++)
        if (holders[i]->mode == WRITE && count > 1)
            hold_at_once(holders[i], holders[i == 0]);
}

static bool rwlock_may_fail(int mode, const struct zr_seat *own)
{
    return mode == READ ? unshared(own, INT64_MAX) > 0 : others(own, "") > 0;
}

static void downgrade_calmly(struct zr_object *hold)
{
    struct zr_args none = {0};
    struct zr_task *task;
    if (hold == NULL) {
        wrong("what is free was not granted");
        return;
    }
    start(hold, "downgrade", &none, &task);
    calm_for(10 * MS);
    zr_engine_next_reported(now.processes[0].engine);
    zr_task_drop(task, true);
}

static void spend_on_writing(void)
{
    struct zr_object *writer = acquire_calmly(WRITE, SECOND);
    spent("write", (struct requests){.creates = 1, .lists = 1});
    if (acquire_calmly(READ, 0) != NULL)
        wrong("a reader came in while one writes");
    spent("to try to read in vain", (struct requests){.lists = 1, .gets = 1});
    downgrade_calmly(writer);
    spent("downgrade", (struct requests){.sets = 1});
    struct zr_object *reader = acquire_calmly(READ, SECOND);
    spent("read beside", (struct requests){.creates = 1, .lists = 1});
    release_calmly(reader);
    release_calmly(writer);
    spent("two releases", (struct requests){.deletes = 2});
}

/* The costs of the lock; and a try to read also reads whether the writer has downgraded. */
static void spend_rwlock(void)
{
    release_calmly(acquire_calmly(READ, SECOND)); /* this also creates the directory */
    count_from_here();
    struct zr_object *one = acquire_calmly(READ, SECOND), *other = acquire_calmly(READ, SECOND);
    spent("two readers", (struct requests){.creates = 2, .lists = 2});
    if (acquire_calmly(WRITE, 0) != NULL)
        wrong("a writer came in while some read");
    spent("to try to write in vain", (struct requests){.lists = 1});
    release_calmly(one);
    release_calmly(other);
    spent("two releases", (struct requests){.deletes = 2});
    spend_on_writing();
}

const struct recipe rwlock_recipe = {
    .name = "rwlock",
    .histories = 50000,
    .dir = "/n/rw",
    .requests = 10, /* those of the lock, and two reads of the data of the contender ahead */
    .make = make_rwlock,
    .modes = 2,
    .start = start_rwlock,
    .other = downgrade,
    .other_ended = downgraded,
    .cancel = "cancel",
    .release = "release",
    .excludes = {false, true},
    .scripts = rwlock_scripts,
    .script_count = 6,
    .three = 6,
    .granted = rwlock_granted,
    .held = rwlock_held,
    .may_fail = rwlock_may_fail,
    .may_end_with = usual_end,
    .spend = spend_rwlock,
};
