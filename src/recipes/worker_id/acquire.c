#include "recipes/worker_id/worker_id.h"

#include "core/alloc.h"
#include "core/verbs.h"

/*
 * worker_id:acquire():
 *
 * 1. List the numbers that are taken.
 * 2. Create the ephemeral znode of the smallest free number below the max. If that succeeds, the
 *    number is ours.
 * 3. If all are taken, or if another contender was faster: take a turn in the queue, a directory
 *    of its own. The name of a turn says for which max it waits.
 * 4. If there is a turn ahead with our max or a higher one, wait until the nearest such turn is
 *    gone, and list the queue again. Whatever number wakes us would wake that one as well.
 * 5. Otherwise list the numbers with a watch. If one is free, create its znode, then give the turn
 *    up: that wakes the next one, which looks for itself. If none is free, wait for the event.
 *
 * So no freed number is missed: from each waiter a chain of turns with at least its max leads to
 * one that watches the numbers, or is about to look at them. If a turn in the chain goes, however
 * it ends, the one behind it looks. And no freed number wakes a herd: with one max, one waiter
 * watches. The queue also keeps contenders from running for the same number: a contender that was
 * refused once takes a turn.
 *
 * A new attempt may take a number that a waiter was just woken for; then the waiter goes on
 * waiting.
 *
 * A try (timeout 0) takes no turn. If it is refused, it lists again.
 *
 * What can go wrong: answers are lost: the verbs find out whether the znodes exist. The wait ends
 * without a grant: the clean-up gives up the turn and the number. The session is lost: its znodes
 * stand until the servers end it, and until then no contender gets its number. A stranger's znode
 * has the name of a number: that number is taken. A stranger's turn: see strangers.h.
 */

#define CLAIMED_US 20000
#define CLAIMED_DOUBLED 6 /* times at most */

static void look(struct zr_task *task);
static void list_queue(struct zr_task *task);
static void watch_numbers(struct zr_task *task);

const struct zr_stem zr_turn_stem = {.text = "turn-", .read_note = zr_count_note_read};

static struct zr_worker_attempt *of(struct zr_task *task)
{
    return (struct zr_worker_attempt *)zr_hold_of(task);
}

static const struct zr_worker_id *ids_of(struct zr_task *task)
{
    return (const struct zr_worker_id *)zr_hold_of(task)->owner;
}

static bool has_turn(struct zr_task *task)
{
    return of(task)->turn.state == ZR_SEAT_TAKEN;
}

static void look_away(struct zr_worker_attempt *attempt)
{
    zr_watch_unfollow(attempt->watch);
    attempt->watch = NULL;
}

/* ---- A number ------------------------------------------------------------------------------- */

static void contend(struct zr_task *task);

static void grant(struct zr_task *task)
{
    zr_hold_grant(zr_hold_of(task));
}

static void occupied(struct zr_task *task)
{
    const struct zr_hold *hold = zr_hold_of(task);
    bool ours = hold->seat.state == ZR_SEAT_TAKEN;
    if (ours && has_turn(task)) {
        look_away(of(task));
        zr_verb_vacate(task, &of(task)->turn, ZR_STEP(grant));
    } else if (ours) {
        grant(task);
    } else if (has_turn(task)) {
        watch_numbers(task);
    } else if (hold->only_try) {
        look(task);
    } else {
        contend(task);
    }
}

/* It will soon be known whether the other attempt gets the number. Only if another client has
   deleted a holder's znode that lasts, until the holder knows. */
static void pause(struct zr_task *task)
{
    int64_t us = (int64_t)CLAIMED_US << of(task)->pauses;
    of(task)->pauses += of(task)->pauses < CLAIMED_DOUBLED;
    zr_verb_pause(task, us, has_turn(task) ? ZR_STEP(watch_numbers) : ZR_STEP(look));
}

/* Takes the smallest free number; false: all are taken, and the step goes on. */
static bool take_free(struct zr_task *task, const struct zr_names *names)
{
    enum zr_numbers found;
    enum zr_status status = zr_number_choose(of(task), names, &found);
    if (status != ZR_OK)
        zr_verb_fail(task, status);
    else if (found == ZR_NUMBER_FREE)
        zr_verb_occupy(task, &zr_hold_of(task)->seat, ZR_STEP(occupied));
    else if (found == ZR_NUMBER_CLAIMED)
        pause(task);
    else
        of(task)->pauses = 0;
    return status != ZR_OK || found != ZR_NUMBERS_TAKEN;
}

static void looked(struct zr_task *task)
{
    if (take_free(task, task->seats != NULL ? task->seats->names : NULL))
        return;
    if (!zr_hold_of(task)->only_try) {
        contend(task);
        return;
    }
    zr_task_explain(task, "all numbers below %d are taken", (int)ids_of(task)->max);
    zr_verb_fail(task, ZR_TIMEOUT);
}

static void look(struct zr_task *task)
{
    zr_verb_list(task, ids_of(task)->contest.dir, ZR_STEP(looked));
}

/* ---- A turn --------------------------------------------------------------------------------- */

static void watched(struct zr_task *task)
{
    struct zr_worker_attempt *attempt = of(task);
    if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        zr_verb_fail(task, task->outcome);
    else if (!take_free(task, task->outcome == ZR_OK ? task->call->request.names : NULL))
        zr_verb_await_change(task, attempt->watch, attempt->events, ZR_STEP(watch_numbers));
}

static void watch_numbers(struct zr_task *task)
{
    struct zr_worker_attempt *attempt = of(task);
    const char *dir = ids_of(task)->contest.dir;
    enum zr_status status = ZR_OK;
    if (attempt->watch == NULL)
        status = zr_watch_follow(task->session, dir, 1, ZR_WATCHED_BYTES_COMMON, &attempt->watch);
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    attempt->events = zr_watch_events(attempt->watch);
    zr_verb_read(task, ZR_OP_CHILDREN, dir, true, ZR_STEP(watched));
}

/* The nearest turn ahead that is woken by every number that would wake us; -1: none. */
static int64_t nearest(struct zr_task *task, int64_t index)
{
    const struct zr_seats *seats = task->seats;
    do
        index--;
    while (index >= 0 &&
           (seats->at[index].stem != &zr_turn_stem || seats->at[index].note < ids_of(task)->max));
    return index;
}

static void queued(struct zr_task *task)
{
    struct zr_worker_attempt *attempt = of(task);
    int64_t index = task->seats != NULL ? zr_seat_index(&attempt->turn, task->seats) : -1;
    if (index < 0) {
        zr_seat_gone(&attempt->turn); /* it was deleted from outside */
        contend(task);
        return;
    }
    attempt->hold.position = (int32_t)index;
    int64_t ahead = nearest(task, index);
    if (ahead < 0)
        watch_numbers(task);
    else
        zr_verb_await_gone(task, ids_of(task)->queue, task->seats->at[ahead].name, NULL,
                           ZR_STEP(list_queue));
}

static void list_queue(struct zr_task *task)
{
    zr_verb_list(task, ids_of(task)->queue, ZR_STEP(queued));
}

static void contend(struct zr_task *task)
{
    zr_verb_contend(task, &of(task)->turn, ZR_STEP(queued));
}

/* ---- Starting and ending -------------------------------------------------------------------- */

static void cleaned(struct zr_task *task)
{
    zr_task_finish(task, task->status);
}

static void give_turn_up(struct zr_task *task)
{
    zr_verb_vacate(task, &of(task)->turn, ZR_STEP(cleaned));
}

/* The number first: its create may be out, and the answer wakes the task. (If the turn's is out,
   the number's seat is empty.) */
static void clean(struct zr_task *task)
{
    look_away(of(task));
    zr_verb_vacate(task, &zr_hold_of(task)->seat, ZR_STEP(give_turn_up));
}

static void fini(struct zr_hold *hold)
{
    struct zr_worker_attempt *attempt = (struct zr_worker_attempt *)hold;
    look_away(attempt);
    zr_seat_fini(&attempt->turn);
    zr_free(attempt->number);
}

static const struct zr_hold_more more = {.fini = fini};

static const struct zr_task_kind kind = ZR_HOLD_KIND("worker_id:acquire", clean);

static struct zr_worker_attempt *new_attempt(struct zr_worker_id *ids)
{
    struct zr_contest *contest = &ids->contest;
    struct zr_hold *hold = zr_hold_new(sizeof(struct zr_worker_attempt), contest->session,
                                       &contest->object, contest->dir, NULL, contest->data);
    struct zr_worker_attempt *attempt = (struct zr_worker_attempt *)hold;
    if (attempt == NULL)
        return NULL;
    hold->more = &more;
    hold->numbered = true;
    zr_count_note_write(ids->max, attempt->note);
    zr_seat_init(&attempt->turn, contest->session, ids->queue, &zr_turn_stem, contest->data);
    attempt->turn.note = attempt->note;
    return attempt;
}

enum zr_status zr_worker_id_acquire(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    struct zr_contest *contest = (struct zr_contest *)self;
    const struct zr_arg *timeout = &args->at[0];
    enum zr_status status = zr_session_usable(contest->session);
    if (status != ZR_OK)
        return status;
    struct zr_worker_attempt *attempt = new_attempt((struct zr_worker_id *)self);
    if (attempt == NULL)
        return ZR_NO_MEMORY;
    *task = &attempt->hold.task;
    attempt->hold.only_try = timeout->given && timeout->integer == 0;
    zr_list_append(&contest->attempts, &(*task)->in_owner);
    zr_task_start(*task, &kind, contest->session, contest->path,
                  timeout->given ? timeout->integer : -1, ZR_STEP(look));
    return ZR_OK;
}
