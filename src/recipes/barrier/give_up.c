#include "recipes/barrier/join.h"

#include "core/alloc.h"

/*
 * A member gives up, because its limit has passed, or a request has failed:
 * 1. Delete both znodes in one request (withdraw). Done: it was in no round.
 * 2. One of them was gone. m- is there: its round had begun, and the call succeeds. m- is gone:
 *    without it no round has removed w-. An attempt whose answer was lost has, or w- was never
 *    made.
 * 3. If the limit has passed, count once more: the caller learns how many came.
 *
 * What can go wrong: no server answers within 50 ms after the limit: the member gives up in the
 * background (clean), and the caller is told that the round may have begun. So does a member whose
 * caller is gone. Its session is lost: a late request may have created the znodes in it; they are
 * deleted in the next one.
 */

#define GRACE_US 50000

static const char lost[] = "the session was lost while the member waited; the round may have begun";

/* ---- The end ------------------------------------------------------------------------------- */

/* What the task gives up for is what it reports. */
static void end(struct zr_task *task)
{
    const struct zr_join *join = zr_join_of(task);
    if (join->text != NULL)
        zr_task_explain(task, "%s", join->text);
    zr_task_interrupt(task, join->why);
}

static void end_unsure(struct zr_task *task, enum zr_status why)
{
    const struct zr_join *join = zr_join_of(task);
    const char *text = join->text != NULL ? join->text : zr_status_text(join->why);
    zr_task_explain(task, "%s; the round may have begun", text);
    zr_task_interrupt(task, join->deadline_us >= 0 ? ZR_CONNECTION_LOSS : why);
}

/* More may wait for the next round. */
static void end_late(struct zr_task *task, size_t others)
{
    struct zr_join *join = zr_join_of(task);
    size_t size = (size_t)zr_rounds_of(task)->size;
    join->came = others < size ? others : size;
    join->knows_came = true;
    zr_task_explain(task, "%zu of %zu came", join->came, size);
    zr_task_interrupt(task, ZR_TIMEOUT);
}

void zr_join_failed(struct zr_task *task, struct zr_sink *sink)
{
    const struct zr_join *join = zr_join_of(task);
    if (join->knows_came)
        sink->integer(sink, NULL, (int64_t)join->came);
}

/* ---- Giving up ----------------------------------------------------------------------------- */

static void counted(struct zr_task *task)
{
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    zr_visit_keep_listing(task);
    zr_join_sift(task);
    end_late(task, zr_join_of(task)->came + 1);
}

static void gave_up(struct zr_task *task)
{
    struct zr_join *join = zr_join_of(task);
    join->withdrawn = true;
    if (join->why != ZR_TIMEOUT)
        end(task);
    else if (task->tries)
        end_late(task, join->came);
    else
        zr_verb_read(task, ZR_OP_CHILDREN, zr_znode_of(task)->full, false, ZR_STEP(counted));
}

static void looked(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        zr_join_through(task);
    else if (task->outcome == ZR_NO_NODE)
        gave_up(task);
    else
        end_unsure(task, task->outcome);
}

static void withdrew(struct zr_task *task)
{
    const char *path = zr_visit_of(task)->member->takes_part;
    if (task->outcome == ZR_OK)
        gave_up(task);
    else if (task->outcome == ZR_NO_NODE)
        zr_verb_read(task, ZR_OP_EXISTS, path, false, ZR_STEP(looked));
    else
        end_unsure(task, task->outcome);
}

static void withdraw(struct zr_task *task)
{
    struct zr_call *call;
    enum zr_status status = zr_member_new_delete(task, &call);
    if (status == ZR_OK)
        zr_verb_request(task, call, true, ZR_STEP(withdrew));
    else
        end_unsure(task, status);
}

static void set_limit(struct zr_task *task)
{
    const struct zr_join *join = zr_join_of(task);
    int64_t left = join->deadline_us - zr_engine_now_us(task->session->engine);
    if (join->deadline_us >= 0)
        zr_task_limit(task, left > GRACE_US && !task->tries ? left : GRACE_US);
}

static void begin(struct zr_task *task)
{
    struct zr_join *join = zr_join_of(task);
    join->giving_up = true;
    join->why = task->outcome;
    if (task->detail != NULL)
        join->text = zr_copy_string(task->detail);
    set_limit(task);
    if (!join->announced)
        end(task);
    else if (join->deadline_us >= 0 && task->session->state != ZR_CONNECTED)
        end_unsure(task, join->why);
    else
        withdraw(task);
}

void zr_join_give_up(struct zr_task *task)
{
    struct zr_join *join = zr_join_of(task);
    if (join->through)
        zr_task_interrupt(task, ZR_OK);
    else if (!join->giving_up)
        begin(task);
    else if (join->withdrawn)
        end_late(task, join->came);
    else
        end_unsure(task, task->outcome);
}

/* ---- In the background --------------------------------------------------------------------- */

static void abandon(struct zr_task *task);

static void cleaned(struct zr_task *task)
{
    zr_task_finish(task, task->status);
}

static void waits_deleted(struct zr_task *task)
{
    zr_visit_delete(task, zr_visit_of(task)->member->takes_part, ZR_STEP(cleaned));
}

static void abandoned(struct zr_task *task)
{
    if (zr_visit_passes(task->outcome))
        zr_visit_pause(task, ZR_STEP(abandon));
    else if (task->outcome == ZR_NO_NODE)
        zr_visit_delete(task, zr_visit_of(task)->member->waits, ZR_STEP(waits_deleted));
    else
        cleaned(task);
}

static void abandon(struct zr_task *task)
{
    struct zr_call *call;
    if (zr_member_new_delete(task, &call) == ZR_OK)
        zr_verb_request(task, call, true, ZR_STEP(abandoned));
    else
        zr_visit_pause(task, ZR_STEP(abandon));
}

/* A member that is through stays so, whatever has ended its wait for m-. */
static void correct(struct zr_task *task)
{
    const struct zr_join *join = zr_join_of(task);
    if (join->through) {
        task->status = ZR_OK;
    } else if (task->status == ZR_LOST) {
        task->doubtful = false;
        task->detail = lost;
    }
}

void zr_join_clean(struct zr_task *task)
{
    const struct zr_join *join = zr_join_of(task);
    correct(task);
    if (!join->announced || join->withdrawn || zr_session_usable(task->session) != ZR_OK)
        cleaned(task);
    else if (join->through)
        waits_deleted(task);
    else
        abandon(task);
}
