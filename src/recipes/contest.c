#include "recipes/contest.h"

#include "core/alloc.h"
#include "core/announce.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/kazoo.h"
#include "recipes/suspect.h"

/*
 * The algorithm is "Locks" of ZooKeeper's page of recipes, without its herd. Where a stem is
 * shared, it is "Shared Locks" of that page.
 *
 * 1. Create our znode and list the directory, both in one flight.
 * 2. If no conflicting contender is ahead of us, we hold the lock.
 * 3. Otherwise wait until the nearest conflicting contender is gone. If it was certainly the holder
 *    and the head of the queue, we hold the lock now: a znode created later always sorts behind
 *    ours. We know that if no other contender was ahead at our last look, if its session is ours,
 * or if it announced its end (announce.h). If not, list the directory again and go to 2.
 * 4. A holder that has waited announces its end: contenders that came meanwhile saw more than one
 *    ahead of them.
 *
 * Every contender conflicts with an attempt that wants the lock alone. An attempt that shares
 * (role->shares) conflicts only with contenders that do not share, so it sleeps while other readers
 * leave.
 *
 * The contender ahead may say something that ends the wait before it goes (role->enough): a writer,
 * that it shares from now on (sharing.h); a leader, that another member shall lead next
 * (successor.h). Then the role's step `told` runs.
 *
 * A znode that is named like a contender but is not ephemeral is no contender, unless one of the
 * recipes could have given it its name (strangers.h). A try reads such a znode if its name is
 * unusual.
 *
 * Contenders of kazoo's and ours do not see each other. If a listing shows one that is named like
 * kazoo's, and it is ephemeral, the attempt fails: to grant beside it would be wrong, and to wait
 * for it would help one side only.
 *
 * A try (timeout 0) looks first, and writes nothing if there is a conflicting contender. If only
 * the head of the queue conflicts, an attempt that shares also reads what that contender says.
 *
 * An attempt that would wait behind more than `max_queue` contenders fails instead.
 *
 * What can go wrong: answers are lost, the directory vanishes, the numbers run out: contend handles
 * these. The wait ends without a grant: the clean-up vacates the seat. The session is lost, and the
 * place in the queue with it: the attempt ends with ZR_LOST.
 */

const struct zr_stem zr_lock_stem = {.text = "lock-", .is_foreign = zr_is_kazoos};

/* ---- The steps of an attempt --------------------------------------------------------------- */

static void check(struct zr_task *task);

static const struct zr_role *role_of(const struct zr_task *task)
{
    return ZR_HOLDER(task->kind, const struct zr_role, kind);
}

/* The nearest conflicting contender before `index`; -1: there is none. */
static int64_t nearest(const struct zr_hold *hold, const struct zr_seats *seats, int64_t index)
{
    bool shares = role_of(&hold->task)->shares;
    do
        index--;
    while (index >= 0 && shares && seats->at[index].stem == hold->seat.stem);
    return index;
}

void zr_contest_held_by_another(struct zr_task *task)
{
    task->detail = "it is held by another contender";
    zr_verb_fail(task, ZR_TIMEOUT);
}

/* If the attempt shares, contenders ahead of it may hold the lock too. */
void zr_contest_grant(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    if (!role_of(task)->shares) {
        hold->seat.word |= ZR_SAYS_HEAD; /* of interest when it goes */
        hold->seat.announces = hold->waited;
        hold->seat.one_follows = !role_of(task)->many_follow;
    }
    zr_hold_grant(hold);
}

static void not_kept_out(struct zr_task *task)
{
    if (zr_hold_of(task)->seat.state == ZR_SEAT_TAKEN)
        zr_contest_grant(task);
    else
        zr_contest_contend(task);
}

static void look(struct zr_task *task);
static void look_first(struct zr_task *task);

/* It was read, and does not conflict. */
static void look_past(struct zr_task *task)
{
    if (zr_hold_of(task)->seat.state == ZR_SEAT_TAKEN)
        zr_verb_list(task, zr_hold_of(task)->seat.dir, ZR_STEP(check));
    else
        look_first(task);
}

static void read_stranger(struct zr_task *task)
{
    enum zr_suspect_verdict verdict = zr_suspect_answered(task);
    if (verdict == ZR_SUSPECT_PASSED)
        look_past(task);
    else if (verdict == ZR_SUSPECT_CONTENDS)
        zr_contest_held_by_another(task);
}

static void read_head(struct zr_task *task)
{
    const struct zr_request *read = &task->call->request;
    int64_t word = zr_stem_word(task->session->engine->recipes, read);
    if (read->status == ZR_OK && !role_of(task)->enough(task, word))
        zr_contest_held_by_another(task);
    else if (read->status == ZR_OK || read->status == ZR_NO_NODE)
        not_kept_out(task);
    else
        zr_verb_fail(task, read->status);
}

/* For a try: does the contender at `ahead` really conflict? */
static void try_past(struct zr_task *task, int64_t ahead)
{
    const char *dir = zr_hold_of(task)->seat.dir, *other = task->seats->at[ahead].name;
    bool usual = zr_is_usual(task->session->engine->recipes, other);
    if (usual && (!role_of(task)->shares || ahead > 0)) {
        zr_contest_held_by_another(task);
        return;
    }
    if (!usual) {
        zr_suspect_ask(task, dir, other, ZR_STEP(read_stranger));
        return;
    }
    char *path = zr_path_child(dir, other);
    if (path == NULL)
        zr_verb_fail(task, ZR_NO_MEMORY);
    else
        zr_verb_read(task, ZR_OP_GET, path, false, ZR_STEP(read_head));
    zr_free(path);
}

static void read_foreign(struct zr_task *task)
{
    enum zr_suspect_verdict verdict = zr_suspect_answered(task);
    if (verdict == ZR_SUSPECT_PASSED)
        look_past(task);
    if (verdict != ZR_SUSPECT_CONTENDS)
        return;
    zr_task_explain(task,
                    "the znode %s belongs to kazoo, which ignores our znodes; use different paths "
                    "for kazoo and zkrecipes",
                    zr_path_inside(task->session->namespace, task->call->request.path));
    zr_verb_fail(task, ZR_CONFLICT);
}

/* A contender of kazoo's does not see ours, and is granted beside them. True: one that is named so
   is read. */
static bool meets_foreign(struct zr_task *task)
{
    const struct zr_seats *seats = task->seats;
    if (seats == NULL || seats->foreign == NULL)
        return false;
    zr_suspect_ask(task, zr_hold_of(task)->seat.dir, seats->foreign, ZR_STEP(read_foreign));
    return true;
}

static void look(struct zr_task *task)
{
    const struct zr_seats *seats = task->seats;
    if (meets_foreign(task))
        return;
    int64_t ahead = seats != NULL ? nearest(zr_hold_of(task), seats, (int64_t)seats->count) : -1;
    if (ahead >= 0)
        try_past(task, ahead);
    else
        zr_contest_contend(task);
}

static void look_first(struct zr_task *task)
{
    zr_verb_list(task, zr_hold_of(task)->seat.dir, ZR_STEP(look));
}

void zr_contest_contend(struct zr_task *task)
{
    zr_verb_contend(task, &zr_hold_of(task)->seat, ZR_STEP(check));
}

static void moved_up(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    bool was_head = zr_announce_end(&hold->announced) || (task->word & ZR_SAYS_HEAD) != 0;
    if (task->told)
        role_of(task)->told(task);
    else if (hold->next_in_line || was_head)
        zr_contest_grant(task);
    else
        zr_verb_list(task, hold->seat.dir, ZR_STEP(check));
}

/* One that shares never announces its end: others that share may hold beside it. */
static bool may_announce(const struct zr_task *task, const struct zr_seat_name *other)
{
    return role_of(task)->shares || other->stem == zr_hold_of((struct zr_task *)task)->seat.stem;
}

static void await(struct zr_task *task, int64_t ahead)
{
    struct zr_hold *hold = zr_hold_of(task);
    const struct zr_seat_name *other = &task->seats->at[ahead];
    hold->waited = true;
    if (ahead > 0 && may_announce(task, other))
        zr_announce_follow(task->session, hold->seat.dir, other->name, &hold->announced);
    zr_verb_await_gone(task, hold->seat.dir, other->name, role_of(task)->enough, ZR_STEP(moved_up));
}

static void check(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    int64_t index = task->seats != NULL ? zr_seat_index(&hold->seat, task->seats) : -1;
    if (meets_foreign(task))
        return;
    if (index < 0) {
        zr_seat_gone(&hold->seat); /* it was deleted from outside */
        zr_contest_contend(task);
        return;
    }
    hold->position = (int32_t)index;
    int64_t ahead = nearest(hold, task->seats, index);
    hold->next_in_line = ahead == 0;
    if (ahead < 0)
        zr_contest_grant(task);
    else if (hold->only_try)
        try_past(task, ahead);
    else if (!zr_contest_queue_full(task))
        await(task, ahead);
}

enum zr_status zr_contest_start(struct zr_contest *contest, const struct zr_role *role,
                                const struct zr_arg *timeout, struct zr_task **task)
{
    return zr_contest_begin(contest, role, role->stem, timeout, ZR_STEP(look_first),
                            ZR_STEP(zr_contest_contend), task);
}

enum zr_status zr_contest_begin(struct zr_contest *contest, const struct zr_role *role,
                                const struct zr_stem *stem, const struct zr_arg *timeout,
                                struct zr_next try_first, struct zr_next wait_first,
                                struct zr_task **task)
{
    struct zr_session *session = contest->session;
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    size_t size = role->size != 0 ? role->size : sizeof(struct zr_hold);
    struct zr_hold *hold =
        zr_hold_new(size, session, &contest->object, contest->dir, stem, contest->data);
    if (hold == NULL)
        return ZR_NO_MEMORY;
    *task = &hold->task;
    hold->only_try = timeout->given && timeout->integer == 0;
    zr_list_append(&contest->attempts, &hold->task.in_owner);
    zr_task_start(*task, &role->kind, session, contest->path,
                  timeout->given ? timeout->integer : -1, hold->only_try ? try_first : wait_first);
    return ZR_OK;
}
