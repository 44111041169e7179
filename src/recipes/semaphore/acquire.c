#include "recipes/semaphore/semaphore.h"

#include "core/alloc.h"
#include "core/verbs.h"

/*
 * semaphore:acquire():
 *
 * 1. Read the limit, take a seat, and list the directory: one flight. A listing counts only if the
 *    limit that we know was in force when it was made; the directory's stat in the listing tells.
 * 2. If the permits of all seats up to ours, ours included, are at most the limit, ours is granted.
 *    Seats ahead can only leave, so this stays true, and it bounds the permits of all holders.
 * 3. Otherwise, if the first or only the first waiter is ahead, watch all seats ahead, and the
 *    limit. They are known, so while the limit stays the same the end of one is as good as a look.
 * 4. Otherwise watch only the seat just ahead. A waiter that becomes the first writes the names of
 *    the seats ahead into its own node (mark.h), if there may be a waiter behind it. So the waiter
 *    behind knows them without a listing, and goes to 3.
 *
 * Before it waits or gives up, an attempt reads the seats ahead that have unusual names. Those that
 * are not ephemeral are ignored from then on (core/strangers.h), and it looks again.
 *
 * No mark is needed if our first look shows that we are granted, or the first, and no node has left
 * the directory since before we came: then the waiter behind has seen it, too. A waiter of our own
 * session is woken without a request.
 *
 * What can go wrong: as for the lock, see contest.c. The limit is changed, or the connection is
 * lost: those that watch all look again. The limit is made smaller: capacity.c. A contender ends
 * before its mark is read: its node goes, and the waiter behind looks.
 */

static struct zr_permit_attempt *of(struct zr_task *task)
{
    return (struct zr_permit_attempt *)zr_hold_of(task);
}

static struct zr_semaphore *semaphore_of(struct zr_task *task)
{
    return of(task)->read.semaphore;
}

static void contend(struct zr_task *task);
static void look(struct zr_task *task);
static void look_before(struct zr_task *task);

/* ---- The steps of an attempt --------------------------------------------------------------- */

static void no_room(struct zr_task *task)
{
    task->detail = "too few permits are free: other contenders hold them or wait for them";
    zr_verb_fail(task, ZR_TIMEOUT);
}

static void conflict(struct zr_task *task, int64_t permits)
{
    zr_limit_conflict(task, &of(task)->read, permits);
}

static void grant(struct zr_task *task)
{
    struct zr_permit_attempt *attempt = of(task);
    zr_permit_look_away(attempt);
    zr_limit_forget(&attempt->read);
    zr_hold_grant(&attempt->hold);
}

/* No waiter is ahead. False: the one behind cannot be told, and the step is over. */
static bool tell(struct zr_task *task, const struct zr_seats *seats, int64_t index)
{
    enum zr_status status = zr_permit_tell(of(task), seats, index);
    if (status != ZR_OK)
        zr_verb_fail(task, status);
    return status == ZR_OK;
}

/* The first two waiters watch all seats ahead. */
static void watch(struct zr_task *task, int64_t index)
{
    const struct zr_capacity *capacity = &semaphore_of(task)->capacity;
    int64_t ahead = zr_permits_ahead(task->seats, index);
    int64_t before = zr_permits_ahead(task->seats, ahead);
    if (zr_permits_may_hold(capacity, task->seats, before))
        zr_permit_watch_all(task, index);
    else
        zr_permit_follow(task, ahead);
}

static void wait_in_line(struct zr_task *task)
{
    const struct zr_hold *hold = zr_hold_of(task);
    int64_t limit = semaphore_of(task)->capacity.limit;
    int64_t index = zr_seat_index(&hold->seat, task->seats);
    bool first = zr_permits_taken(task->seats, (size_t)index) <= limit;
    if (hold->only_try)
        no_room(task);
    else if (hold->permits > limit)
        conflict(task, hold->permits);
    else if (!zr_contest_queue_full(task) && (!first || tell(task, task->seats, index)))
        watch(task, index);
}

/* Something has gone; attempt->watches knows all that is left ahead. */
static void weigh(struct zr_task *task)
{
    struct zr_permit_attempt *attempt = of(task);
    int64_t taken = attempt->watches.permits, limit = semaphore_of(task)->capacity.limit;
    attempt->hold.position = (int32_t)attempt->watches.count;
    bool first = taken <= limit;
    if (attempt->hold.permits > limit)
        conflict(task, attempt->hold.permits);
    else if (first && !attempt->told && !zr_permit_knows_behind(attempt))
        look(task);
    else if (first && !tell(task, NULL, 0))
        return;
    else if (taken + attempt->hold.permits <= limit)
        grant(task);
    else
        zr_permit_keep_watching(task);
}

static void sift(struct zr_task *task, size_t end);

static void sifted(struct zr_task *task)
{
    const struct zr_hold *hold = zr_hold_of(task);
    enum zr_suspect_verdict verdict = zr_sift_answered(task, &of(task)->sift);
    if (verdict == ZR_SUSPECT_PASSED)
        look(task);
    else if (verdict == ZR_SUSPECT_CONTENDS)
        sift(task, hold->seat.state == ZR_SEAT_TAKEN
                       ? (size_t)zr_seat_index(&hold->seat, task->seats)
                       : task->seats->count);
}

/* There seems to be no room behind the seats before `end`. */
static void sift(struct zr_task *task, size_t end)
{
    struct zr_permit_attempt *attempt = of(task);
    const struct zr_seat *seat = &attempt->hold.seat;
    if (zr_sift_next(task, &attempt->sift, end, seat->dir, ZR_STEP(sifted)))
        return;
    /* Another attempt may have read a newer limit meanwhile: then this listing is too old. */
    if (!zr_limit_stands(task, &attempt->read, look))
        return;
    if (seat->state == ZR_SEAT_TAKEN)
        wait_in_line(task);
    else
        no_room(task);
}

static void take(struct zr_task *task, int64_t index)
{
    if (tell(task, task->seats, index))
        grant(task);
}

static void take_or_sift(struct zr_task *task, int64_t index)
{
    struct zr_permit_attempt *attempt = of(task);
    const struct zr_capacity *capacity = &semaphore_of(task)->capacity;
    zr_sift_forget(&attempt->sift);
    if (zr_permits_taken(task->seats, (size_t)index) + attempt->hold.permits <= capacity->limit)
        take(task, index);
    else
        sift(task, (size_t)index);
}

static void check(struct zr_task *task)
{
    struct zr_permit_attempt *attempt = of(task);
    struct zr_hold *hold = &attempt->hold;
    int64_t index = task->seats != NULL ? zr_seat_index(&hold->seat, task->seats) : -1;
    if (index < 0) {
        zr_seat_gone(&hold->seat); /* it was deleted from outside */
        contend(task);
    } else if (zr_limit_stands(task, &attempt->read, look)) {
        hold->position = (int32_t)index;
        take_or_sift(task, index);
    }
}

static void contend(struct zr_task *task)
{
    struct zr_permit_attempt *attempt = of(task);
    zr_permit_look_away(attempt);
    zr_permit_forget_mark(attempt);
    attempt->first_sight = true;
    enum zr_status status = zr_limit_ask(&attempt->read);
    if (status == ZR_OK)
        zr_verb_contend(task, &attempt->hold.seat, ZR_STEP(check));
    else
        zr_verb_fail(task, status);
}

/* Lists the directory; if the limit is not known, reads that first. */
static void list(struct zr_task *task, struct zr_next next)
{
    struct zr_permit_attempt *attempt = of(task);
    enum zr_status status = ZR_OK;
    if (!attempt->read.semaphore->known)
        status = zr_limit_ask(&attempt->read);
    if (status == ZR_OK)
        zr_verb_list(task, attempt->hold.seat.dir, next);
    else
        zr_verb_fail(task, status);
}

/* With a seat; or, before there is one, at the seats that would be ahead of it. */
static void look(struct zr_task *task)
{
    of(task)->first_sight = false;
    zr_sift_forget(&of(task)->sift);
    if (zr_hold_of(task)->seat.state == ZR_SEAT_TAKEN)
        list(task, ZR_STEP(check));
    else
        list(task, ZR_STEP(look_before));
}

static void look_before(struct zr_task *task)
{
    const struct zr_hold *hold = zr_hold_of(task);
    const struct zr_semaphore *semaphore = semaphore_of(task);
    int64_t permits = hold->permits;
    if (task->seats == NULL && semaphore->data.at == NULL)
        zr_limit_missing(task);
    else if (task->seats == NULL && permits > zr_limit_last(semaphore))
        conflict(task, permits);
    else if (task->seats == NULL)
        contend(task);
    else if (!zr_limit_stands(task, &of(task)->read, look))
        return;
    else if (permits > semaphore->capacity.limit)
        conflict(task, permits);
    else if (hold->only_try && zr_permits_taken(task->seats, task->seats->count) + permits >
                                   semaphore->capacity.limit)
        sift(task, task->seats->count);
    else
        contend(task);
}

/* ---- Starting ------------------------------------------------------------------------------ */

static void clean(struct zr_task *task)
{
    zr_permit_look_away(of(task));
    zr_limit_forget(&of(task)->read);
    zr_hold_clean(task);
}

static void fini(struct zr_hold *hold)
{
    struct zr_permit_attempt *attempt = (struct zr_permit_attempt *)hold;
    zr_permit_forget_mark(attempt);
    zr_free(attempt->ahead);
    zr_limit_fini(&attempt->read);
    zr_sift_forget(&attempt->sift);
}

static const struct zr_hold_more more = {.fini = fini};

static const struct zr_task_kind kind = ZR_HOLD_KIND("semaphore:acquire", clean);

static struct zr_permit_attempt *new_attempt(struct zr_semaphore *semaphore, int32_t permits)
{
    struct zr_contest *contest = &semaphore->contest;
    struct zr_hold *hold =
        zr_hold_new(sizeof(struct zr_permit_attempt), contest->session, &contest->object,
                    contest->dir, &zr_permits_stem, contest->data);
    struct zr_permit_attempt *attempt = (struct zr_permit_attempt *)hold;
    if (attempt == NULL)
        return NULL;
    hold->more = &more;
    hold->permits = permits;
    zr_count_note_write(permits, attempt->note);
    hold->seat.note = attempt->note;
    hold->seat.dir_data = &semaphore->data;
    attempt->read.semaphore = semaphore;
    attempt->look = ZR_STEP(look);
    attempt->weigh = ZR_STEP(weigh);
    zr_watch_set_init(&attempt->watches, contest->session, contest->path);
    return attempt;
}

/* True if it looks before it contends: for a try; if there may never be room for it; if it could
   not make the directory. */
static bool looks_first(const struct zr_permit_attempt *attempt)
{
    const struct zr_semaphore *semaphore = attempt->read.semaphore;
    return attempt->hold.only_try || attempt->hold.permits > zr_limit_last(semaphore);
}

enum zr_status zr_semaphore_acquire(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    struct zr_contest *contest = (struct zr_contest *)self;
    struct zr_session *session = contest->session;
    const struct zr_arg *timeout = &args->at[0], *permits = &args->at[1];
    enum zr_status status = zr_session_usable(session);
    if (permits->given && permits->integer < 1)
        args->misuse = "the number of permits must be at least 1";
    if (status != ZR_OK || args->misuse != NULL)
        return status;
    struct zr_permit_attempt *attempt =
        new_attempt((struct zr_semaphore *)self, permits->given ? (int32_t)permits->integer : 1);
    if (attempt == NULL)
        return ZR_NO_MEMORY;
    struct zr_hold *hold = &attempt->hold;
    *task = &hold->task;
    hold->only_try = timeout->given && timeout->integer == 0;
    zr_list_append(&contest->attempts, &hold->task.in_owner);
    zr_task_start(*task, &kind, session, contest->path, timeout->given ? timeout->integer : -1,
                  looks_first(attempt) ? ZR_STEP(look) : ZR_STEP(contend));
    return ZR_OK;
}
