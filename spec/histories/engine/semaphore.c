/*
 * semaphore.c: the semaphore in histories, with random permits and limits. The permits held at one
 * instant do not exceed a limit that was in force since the youngest holder's znode was created. A
 * contender is granted only if at one instant the permits of all older contenders and its own have
 * fitted the limit. A waiter for which there is room does not wait for long. A resize that was
 * answered is kept (resizes.c), and each write of a limit follows from the data that it replaces.
 */
#include "budget.h"

#include "core/names.h"
#include "recipes/semaphore/semaphore.h"
#include "process.h"
#include "resizes.h"
#include "standing.h"
#include "stillness.h"

#define FIRST_LIMIT 3
#define MOST_LIMITS 1000

/* Every limit that was stored, with the transaction that stored it. */
static struct {
    int64_t mzxid[MOST_LIMITS], limit[MOST_LIMITS];
    int count;
    struct zr_capacity last;                          /* of them, as it was stored ... */
    int64_t czxid;                                    /* ... in this directory */
    bool stranger[MOST_PROCESSES][MOST_CONTENDERS];   /* the attempt began before `agreed` */
    int64_t room_us[MOST_PROCESSES][MOST_CONTENDERS]; /* since when there is room for a waiter */
    /* The seat for which there was room at some instant. */
    int64_t had_room[MOST_PROCESSES][MOST_CONTENDERS];
} stored;

static int64_t limit_now(void)
{
    return stored.count > 0 ? stored.limit[stored.count - 1] : FIRST_LIMIT;
}

/* The highest (sign 1) or lowest (sign -1) limit in force since this transaction. */
static int64_t extreme_limit(int64_t zxid, int64_t sign)
{
    int64_t extreme = limit_now();
    for (int i = stored.count - 1; i >= 0; i--) {
        if (sign * stored.limit[i] > sign * extreme)
            extreme = stored.limit[i];
        if (stored.mzxid[i] <= zxid)
            break;
    }
    return extreme;
}

/* ---- How it is used ------------------------------------------------------------------------ */

static enum zr_status make_semaphore(struct process *process)
{
    struct zr_bytes none = {NULL, 0};
    struct zr_args args = {.options = &none};
    int i = 0;
    while (strcmp(zr_recipes[i]->name, "semaphore") != 0)
        i++;
    args.at[0].bytes = (struct zr_bytes){"/p", 2};
    args.at[1].given = stored.count <= 1;
    args.at[1].integer = FIRST_LIMIT;
    return zr_recipes[i]->make(process->session, &args, &process->object);
}

/* True if each object's given limit was the stored one when the object first read it. An object
   that first reads after a resize was opened with a wrong limit. */
static bool all_agree(void)
{
    EACH_PROCESS(p)
    if (p->object != NULL && !((struct zr_semaphore *)p->object)->agreed)
        return false;
    return true;
}

/* In one history of two the limit changes. */
static bool may_resize(void)
{
    return now.shape.contenders > 0 && !now.shape.scripted && now.shape.seed % 2 == 0 &&
           (all_agree() || roll(10) == 0) && roll(4) == 0;
}

/* In one of eight the sequence numbers are used up, too, and most resizes write late. */
static bool ages(void)
{
    return now.shape.contenders > 0 && !now.shape.scripted && now.shape.seed % 8 == 0;
}

static enum zr_status start_semaphore(struct contender *contender, struct zr_args *args)
{
    args->at[1].given = contender->mode > 0 || roll(2) == 0;
    args->at[1].integer = contender->mode + 1;
    stored.stranger[contender->process->number][contender->number] =
        !((struct zr_semaphore *)contender->process->object)->agreed;
    if (may_resize())
        resize_semaphore(contender->process, ages() && !now.calm && roll(3) > 0);
    if (ages() && roll(3) == 0)
        use_up();
    return start(contender->process->object, "acquire", args, &contender->task);
}

static const struct script semaphore_scripts[] = {
    {.mode = 1, .limit_us = -1},     /* acquires two of three permits */
    {.mode = 0, .limit_us = 0},      /* tries one */
    {.mode = 2, .limit_us = 3 * MS}, /* all three, with a time limit */
    {.mode = 1, .limit_us = -1, .gives_up = true},
};

static void begin_semaphore(void)
{
    memset(&stored, 0, sizeof(stored));
    begin_resizes(FIRST_LIMIT);
    begin_standing();
    begin_stillness();
}

static bool same(const struct zr_capacity *one, const struct zr_capacity *other)
{
    return one->limit == other->limit && one->earlier == other->earlier &&
           one->until == other->until;
}

/* True if a resize that has read the data before writes these, or if its note does. Also true if
   both are the same, because the directory is created again. */
static bool follows(const struct zr_capacity *data, const struct zr_capacity *before)
{
    struct zr_capacity resized = zr_capacity_resized(before, data->limit);
    bool noted = data->earlier == 0 ||
                 (data->earlier == before->earlier && before->until == ZR_CAPACITY_ALL);
    return same(data, before) || same(data, &resized) || (data->limit == before->limit && noted);
}

static void note_limit(void)
{
    struct zr_sim_view dir;
    struct zr_capacity capacity;
    if (!zr_sim_look(now.world, now.recipe->dir, &dir) || stored.count >= MOST_LIMITS ||
        (stored.count > 0 && stored.mzxid[stored.count - 1] == dir.stat.mzxid))
        return;
    if (!zr_capacity_read(dir.data, &capacity))
        wrong("the directory holds no limit");
    if (stored.count > 0 && !follows(&capacity, &stored.last))
        wrong("the data '%.*s' were written by one who had not read the data before",
              (int)dir.data.length, dir.data.at);
    if (stored.czxid != dir.stat.czxid && stored.czxid != now.used_up)
        wrong("the directory is made again, but its numbers are not used up");
    stored.last = capacity;
    stored.czxid = dir.stat.czxid;
    stored.mzxid[stored.count] = dir.stat.mzxid;
    stored.limit[stored.count++] = capacity.limit;
    say("the limit is %lld", (long long)capacity.limit);
}

/* ---- No waiter waits in vain -------------------------------------------------------------------
 */

/* While a waiter ahead is cut off, it cannot wake the one behind it (all_connected). Whether others
   are connected does not matter. */
static bool nothing_disturbs(void)
{
    /* If another client has deleted a holder's znode, waiters of the holder's session still wait
       for it. */
    return now.removed_count == 0 && now.quiet_us == NEVER && (now.calm || is_settled());
}

static void check_waiter(const struct contender *contender)
{
    int64_t *since_us = &stored.room_us[contender->process->number][contender->number];
    const struct zr_hold *hold = contender->task != NULL ? zr_hold_of(contender->task) : NULL;
    struct zr_stat stat;
    if (hold == NULL || contender->task->phase != ZR_RUNNING || hold->state != ZR_ACQUIRING ||
        hold->seat.state != ZR_SEAT_TAKEN || !nothing_disturbs() ||
        !zr_sim_stat(now.world, hold->seat.path, &stat) || !all_connected(hold->seat.czxid) ||
        permits_there(NULL, hold->seat.czxid) > limit_now())
        *since_us = 0;
    else if (*since_us == 0)
        *since_us = clock_us();
    else if (clock_us() - *since_us > slow_us())
        wrong("%d.%d waits though there is room", contender->process->number, contender->number);
}

/* ---- What must hold ------------------------------------------------------------------------ */

/* Called at each instant. The permits of all contenders ahead count, also those of waiters. */
static void note_room(const struct contender *contender)
{
    const struct zr_hold *hold = contender->task != NULL ? zr_hold_of(contender->task) : NULL;
    int64_t czxid = hold != NULL ? czxid_of(&hold->seat) : 0;
    if (czxid != 0 && permits_there(NULL, czxid) <= limit_now())
        stored.had_room[contender->process->number][contender->number] = czxid;
}

static void semaphore_granted(const struct contender *contender, const struct zr_hold *hold)
{
    if (stored.had_room[contender->process->number][contender->number] != hold->seat.czxid)
        wrong("%d.%d was granted, but at no instant there was room for it",
              contender->process->number, contender->number);
}

static void semaphore_held(struct contender *const *holders, int count)
{
    int64_t sum = 0, youngest = 0;
    note_limit();
    check_kept(limit_now());
    for (int i = 0; i < count; i++) {
        const struct zr_hold *hold = hold_of(holders[i]);
        sum += hold->permits;
        youngest = hold->seat.czxid > youngest ? hold->seat.czxid : youngest;
    }
    if (sum > extreme_limit(youngest, 1))
        wrong("%lld permits are held at once", (long long)sum);
    hold_still_at_times();
    EACH_PROCESS(p)
    EACH_CONTENDER(c, p)
    {
        hold_long(c);
        note_room(c);
        check_waiter(c);
    }
}

static bool semaphore_may_fail(int mode, const struct zr_seat *own)
{
    return permits_there(own, INT64_MAX) + mode + 1 > limit_now();
}

static bool semaphore_end(const struct contender *contender, enum zr_status status)
{
    if (status == ZR_CONFLICT)
        return contender->mode + 1 > extreme_limit(0, -1) ||
               stored.stranger[contender->process->number][contender->number];
    if (status == ZR_NO_NODE)
        return !now.calm;
    return usual_end(contender, status);
}

/* The costs of a lock; and the limit is read with each claim. */
static void spend_semaphore(void)
{
    release_calmly(acquire_calmly(0, SECOND)); /* this also creates the directory */
    release_calmly(acquire_calmly(0, SECOND)); /* from now on the limit is known */
    count_from_here();
    struct zr_object *hold = acquire_calmly(2, SECOND);
    spent("acquire", (struct requests){.creates = 1, .lists = 1, .gets = 1});
    if (acquire_calmly(0, 0) != NULL)
        wrong("a try took what is not there");
    spent("a try in vain", (struct requests){.lists = 1});
    release_calmly(hold);
    spent("release", (struct requests){.deletes = 1});
    hold = acquire_calmly(0, 0);
    spent("try", (struct requests){.creates = 1, .lists = 2, .gets = 1});
    release_calmly(hold);
}

const struct recipe semaphore_recipe = {
    .name = "semaphore",
    .histories = 30000,
    .dir = "/n/p",
    .begin = begin_semaphore,
    .make = make_semaphore,
    .modes = 3,
    .start = start_semaphore,
    .reported = resize_reported,
    .cancel = "cancel",
    .release = "release",
    .scripts = semaphore_scripts,
    .script_count = 4,
    .three = 4,
    .granted = semaphore_granted,
    .held = semaphore_held,
    .may_fail = semaphore_may_fail,
    .may_end_with = semaphore_end,
    .requests = 20, /* includes a resize */
    .spend = spend_semaphore,
};
