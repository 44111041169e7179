/*
 * worker_id.c: numbers for workers in histories, with a different max in each mode. No number has
 * two valid holders. A number that is granted is below the max, and its tokens grow. A try fails
 * only if all numbers below its max were taken. A waiter for which a number is free does not wait
 * for long.
 */
#include "budget.h"

#include "recipes/worker_id/worker_id.h"

#define MODES 3 /* the max is one more than the mode */
#define NUMBERS "/n/w"

static struct {
    int64_t token[MODES];                             /* the last one that was granted */
    int64_t quiet_us;                                 /* when faults ended */
    int64_t free_us[MOST_PROCESSES][MOST_CONTENDERS]; /* since when a number is free for a waiter */
} seen;

static void begin_worker_id(void)
{
    memset(&seen, 0, sizeof(seen));
}

/* ---- How it is used ------------------------------------------------------------------------ */

static enum zr_status make_ids(struct zr_session *session, int max, struct zr_object **object)
{
    struct zr_bytes none = {NULL, 0};
    struct zr_args args = {.options = &none};
    int i = 0;
    while (strcmp(zr_recipes[i]->name, "worker_id") != 0)
        i++;
    args.at[0].bytes = (struct zr_bytes){"/w", 2};
    args.at[1].integer = max;
    return zr_recipes[i]->make(session, &args, object);
}

static enum zr_status make_worker_id(struct process *process)
{
    return make_ids(process->session, MODES, &process->object);
}

/* Only the highest max is that of the process's own object. */
static enum zr_status start_worker_id(struct contender *contender, struct zr_args *args)
{
    struct zr_object *ids = zr_object_ref(contender->process->object);
    enum zr_status status = ZR_OK;
    if (contender->mode + 1 < MODES) {
        zr_object_unref(ids);
        status = make_ids(contender->process->session, contender->mode + 1, &ids);
    }
    contender->task = NULL;
    if (status != ZR_OK)
        return status;
    status = start(ids, "acquire", args, &contender->task);
    let_go(ids);
    return status;
}

static const struct script worker_id_scripts[] = {
    {.mode = 0, .limit_us = -1},     /* wants the only number */
    {.mode = 1, .limit_us = 0},      /* tries one of two */
    {.mode = 0, .limit_us = 3 * MS}, /* has a time limit */
    {.mode = 1, .limit_us = -1, .gives_up = true},
};

/* ---- What is there ------------------------------------------------------------------------- */

/* The path of this number. Static. */
static const char *path_of(int number)
{
    static char path[sizeof(NUMBERS "/-9")];
    snprintf(path, sizeof(path), NUMBERS "/%d", number % 10);
    return path;
}

/* True if all numbers below the max have a znode; that of `own` (may be null) does not count. */
static bool all_taken(int max, const struct zr_seat *own)
{
    for (int number = 0; number < max; number++) {
        struct zr_stat stat;
        const char *path = path_of(number);
        bool ours = own != NULL && own->state != ZR_SEAT_NONE && strcmp(own->dir, path) == 0;
        if (!zr_sim_stat(now.world, path, &stat) ||
            (ours && stat.ephemeral_owner == own->session->id))
            return false;
    }
    return true;
}

static int64_t number_of(const struct zr_hold *hold)
{
    return zr_number_read(strrchr(hold->seat.path, '/') + 1);
}

/* ---- No waiter waits in vain ---------------------------------------------------------------- */

/* As in semaphore.c: when every process has a connection again; how long a waiter may wait. */
#define SETTLED_US (7 * SECOND)
#define SLOW_US (3 * SECOND)

static bool may_wait(const struct contender *contender)
{
    const struct zr_session *session = contender->its;
    return contender->part != WAITING || contender->task == NULL ||
           contender->task->phase != ZR_RUNNING || session->state != ZR_CONNECTED ||
           zr_sim_paused(contender->process->zk) || now.removed_count > 0 || now.used_up ||
           now.quiet_us != NEVER || clock_us() < seen.quiet_us + SETTLED_US ||
           all_taken(contender->mode + 1, NULL);
}

static void check_waiter(const struct contender *contender)
{
    int64_t *since_us = &seen.free_us[contender->process->number][contender->number];
    if (may_wait(contender))
        *since_us = 0;
    else if (*since_us == 0)
        *since_us = clock_us();
    else if (clock_us() - *since_us > SLOW_US)
        wrong("%d.%d waits though a number is free", contender->process->number, contender->number);
}

/* ---- What must hold ------------------------------------------------------------------------ */

static void worker_id_granted(const struct contender *contender, const struct zr_hold *hold)
{
    int64_t number = number_of(hold), token = token_of(hold);
    if (number < 0 || number > contender->mode)
        wrong("%d.%d was granted %lld of %d", contender->process->number, contender->number,
              (long long)number, contender->mode + 1);
    else if (token <= seen.token[number])
        wrong("token %llx was granted after %llx", (long long)token, (long long)seen.token[number]);
    else
        seen.token[number] = token;
}

static void worker_id_held(struct contender *const *holders, int count)
{
    for (int one = 0; one < count; one++)
        for (int other = 0; other < one; other++)
            if (number_of(hold_of(holders[one])) == number_of(hold_of(holders[other])))
                hold_at_once(holders[one], holders[other]);
    if (seen.quiet_us == 0 && now.quiet_us == NEVER)
        seen.quiet_us = clock_us();
    EACH_PROCESS(p)
    EACH_CONTENDER(c, p)
    check_waiter(c);
}

static bool worker_id_may_fail(int mode, const struct zr_seat *own)
{
    return all_taken(mode + 1, own);
}

/* A free number costs a list and a create. Its release costs a read, a sync and a delete, like that
   of an unfair lock. The first waiter queues and lists with a watch; the waiters behind it only
   queue. A hand-over costs a list, a create and the end of the turn. It costs the next waiter two
   lists, for any number of waiters. */
static void spend_worker_id(void)
{
    release_calmly(acquire_calmly(0, SECOND)); /* this also creates the directory */
    count_from_here();
    struct zr_object *hold = acquire_calmly(0, SECOND);
    spent("acquire", (struct requests){.lists = 1, .creates = 1});
    if (acquire_calmly(0, 0) != NULL)
        wrong("a try took a number that is held");
    spent("a try in vain", (struct requests){.lists = 1});
    struct zr_object *second = acquire_calmly(1, 0);
    spent("try", (struct requests){.lists = 1, .creates = 1});
    release_calmly(second);
    spent("release", (struct requests){.deletes = 1, .looks = 1, .syncs = 1});
    struct zr_task *first = begin_calmly(0, 0, -1);
    count_from_here(); /* the directory of the queue is there from now on */
    struct zr_task *middle = begin_calmly(1, 0, -1), *last = begin_calmly(2, 0, -1);
    spent("two that wait", (struct requests){.lists = 4, .creates = 2, .gets = 2});
    release_calmly(hold);
    spent("a hand-over",
          (struct requests){.lists = 3, .creates = 1, .deletes = 2, .looks = 1, .syncs = 1});
    hold = end_calmly(first);
    give_up_calmly(middle);
    spent("the first waiter gives up", (struct requests){.lists = 2, .deletes = 1});
    release_calmly(hold);
    release_calmly(end_calmly(last));
}

const struct recipe worker_id_recipe = {
    .name = "worker_id",
    .histories = 30000,
    .dir = NUMBERS,
    .queue = NUMBERS "/queue",
    .begin = begin_worker_id,
    .make = make_worker_id,
    .modes = MODES,
    .start = start_worker_id,
    .cancel = "cancel",
    .release = "release",
    .scripts = worker_id_scripts,
    .script_count = 4,
    .granted = worker_id_granted,
    .held = worker_id_held,
    .may_fail = worker_id_may_fail,
    .may_end_with = usual_end,
    .requests = 20,
    .spend = spend_worker_id,
};
