#include "core/names.h"
#include "recipes/presence/presence.h"

/*
 * Keeps an ephemeral znode at a path:
 *
 * 1. Create it, in this session.
 * 2. Look at it, and leave a watch.
 * 3. If it is ours and does not have the last data, write them. Then wait for an event or new data.
 * 4. If it does not exist, go to 1. If it is another client's, wait for an event, then go to 2.
 *
 * What can go wrong: the session is lost: the task ends, and begins again in the next session. The
 * znode of the lost session is in the way until the servers end that session. It may not be deleted
 * before: a delete cannot name the znode's owner, so it could hit a successor. The answer to the
 * create is lost: occupy finds out. The answer to a write is lost: 2, and the data are written
 * again, whether the write was done or not. If the look was at a server that lags behind, the
 * version is wrong, and 2 follows. So only an answered write says that the znode has the data; no
 * read does.
 *
 * We may not read the znode that is in the way: no event tells of its end, so look again after a
 * while, as after each failure.
 *
 * Another client deletes the znode: an event; create it again. Another client writes it: an event;
 * its version is not the one that we know, so write our data again. One client deletes it and
 * another one creates it while our write is in flight: the write fails, because it names the
 * version; but if both znodes were written equally often, it hits the other one. Its answer tells
 * us, and the event tells the other one, which writes its own data again if it is a presence.
 *
 * The task is bound to its session: no request of it is sent in the next one, and no late answer
 * comes to it.
 */

#define REST_US 1000000
#define MEMORY_REST_US 100000

static void contend(struct zr_task *task);
static void look(struct zr_task *task);
static void settle(struct zr_task *task);

static struct zr_presence *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_presence, task);
}

static void now(struct zr_presence *presence, enum zr_presence_state state)
{
    presence->state = state;
    zr_signal_fire(&presence->news, ZR_OK);
}

static void has_now(struct zr_presence *presence, int32_t version)
{
    presence->version = version;
    presence->written = presence->sent;
    presence->problem = ZR_OK;
    now(presence, ZR_PRESENCE_PRESENT);
}

static bool is_ours(const struct zr_presence *presence, const struct zr_stat *stat)
{
    return presence->seat.state == ZR_SEAT_TAKEN && zr_seat_owns(&presence->seat, stat);
}

bool zr_presence_has(const struct zr_presence *presence, uint32_t count)
{
    return presence->state == ZR_PRESENCE_PRESENT && (int32_t)(presence->written - count) >= 0;
}

/* After a failure: tries again after a while. An existing znode stays. */
static void rest(struct zr_task *task, enum zr_status why)
{
    struct zr_presence *presence = of(task);
    presence->problem = why;
    presence->failures++;
    zr_signal_fire(&presence->news, ZR_OK);
    if (why != ZR_TOO_LARGE) {
        zr_verb_pause(task, why == ZR_NO_MEMORY ? MEMORY_REST_US : REST_US, ZR_STEP(look));
        return;
    }
    presence->too_large = presence->sent;
    if (presence->seat.state == ZR_SEAT_TAKEN)
        settle(task);
    else
        contend(task);
}

/* ---- Making it ------------------------------------------------------------------------------ */

static void blocked(struct zr_presence *presence, int64_t czxid, const char *whose)
{
    if (presence->blocker != czxid || presence->state != ZR_PRESENCE_BLOCKED)
        zr_engine_note(presence->znode.session, 'W',
                       "presence %s: a znode of %s is in the way; waiting until it is gone",
                       presence->znode.path, whose);
    presence->blocker = czxid;
    now(presence, ZR_PRESENCE_BLOCKED);
}

static void occupied(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    const char *full = presence->znode.full;
    if (presence->seat.state == ZR_SEAT_TAKEN) {
        presence->session_id = task->session->id;
        has_now(presence, 0);
        look(task);
    } else if (zr_seat_find(task->session, full) != NULL) {
        blocked(presence, 0, "this session");
        zr_verb_await_free(task, full, ZR_STEP(contend));
    } else {
        look(task);
    }
}

static void contend(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    if (presence->wanted == presence->too_large) {
        zr_verb_await(task, &presence->work, ZR_STEP(contend));
        return;
    }
    presence->sent = presence->wanted;
    zr_verb_occupy(task, &presence->seat, ZR_STEP(occupied));
}

/* ---- Looking at it -------------------------------------------------------------------------- */

static void told(struct zr_follower *follower, unsigned used_up)
{
    struct zr_presence *presence = ZR_HOLDER(follower, struct zr_presence, follower);
    (void)used_up; /* there is one watch */
    presence->events++;
    zr_signal_fire(&presence->work, ZR_OK);
}

/* A lost session's znode goes by itself. */
static void in_the_way(struct zr_presence *presence, const struct zr_stat *stat)
{
    int64_t owner = stat->ephemeral_owner;
    if (owner != 0 && owner == presence->session_id && owner != presence->znode.session->id)
        now(presence, ZR_PRESENCE_JOINING);
    else
        blocked(presence, stat->czxid, owner != 0 ? "another session or caller" : "no session");
}

/* It is no longer, or never was, ours. */
static void not_ours(struct zr_presence *presence)
{
    if (presence->seat.state == ZR_SEAT_TAKEN)
        zr_seat_gone(&presence->seat);
}

static void found(struct zr_task *task, const struct zr_stat *stat)
{
    struct zr_presence *presence = of(task);
    bool was_ours = presence->seat.state == ZR_SEAT_TAKEN;
    if (!is_ours(presence, stat)) {
        presence->problem = ZR_OK;
        not_ours(presence);
        in_the_way(presence, stat);
        if (was_ours) {
            look(task); /* by get */
            return;
        }
    } else if (stat->version != presence->version) {
        presence->version = stat->version;
        presence->written = presence->wanted - 1;
    } else if (presence->written == presence->wanted) {
        presence->problem = ZR_OK;
    }
    settle(task);
}

static void looked(struct zr_task *task)
{
    if (task->outcome == ZR_OK) {
        found(task, &task->call->request.stat);
    } else if (task->outcome == ZR_NO_NODE) {
        not_ours(of(task));
        now(of(task), ZR_PRESENCE_JOINING);
        contend(task);
    } else {
        if (task->outcome == ZR_NO_AUTH && of(task)->seat.state != ZR_SEAT_TAKEN)
            blocked(of(task), 0, "others, which this session may not read,");
        rest(task, task->outcome);
    }
}

static enum zr_status follow(struct zr_presence *presence)
{
    if (presence->follower.watch != NULL)
        return ZR_OK;
    presence->follower.told = told;
    return zr_watch_join(presence->znode.session, presence->znode.full, 1, ZR_WATCHED_BYTES_COMMON,
                         &presence->follower);
}

/* Ours by exists, which needs no right to read. Another one by get: who may not read it would not
   be told of its end. */
static void look(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    enum zr_op op = presence->seat.state == ZR_SEAT_TAKEN ? ZR_OP_EXISTS : ZR_OP_GET;
    presence->seen = presence->events;
    enum zr_status status = follow(presence);
    if (status == ZR_OK)
        status = zr_verb_try_read(task, op, presence->znode.full, true, ZR_STEP(looked));
    if (status != ZR_OK)
        rest(task, status);
}

/* ---- Writing it ----------------------------------------------------------------------------- */

/* The connection was lost under a write. */
static void doubtful(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    if (zr_lost_too_large(++presence->losses, presence->data.length))
        rest(task, ZR_TOO_LARGE);
    else
        look(task);
}

static void wrote(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    const struct zr_request *answer = &task->call->request;
    enum zr_status status = task->outcome;
    if (status == ZR_CONNECTION_LOSS) {
        doubtful(task);
        return;
    }
    presence->losses = 0;
    if (status == ZR_OK && is_ours(presence, &answer->stat)) {
        has_now(presence, answer->stat.version);
        settle(task);
    } else if (status == ZR_OK || status == ZR_BAD_VERSION || status == ZR_NO_NODE) {
        look(task);
    } else {
        rest(task, status);
    }
}

static void write_data(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    struct zr_call *call;
    enum zr_status status =
        zr_call_new_full(task->session, ZR_OP_SET, presence->znode.full, presence->data, &call);
    if (status != ZR_OK) {
        rest(task, status);
        return;
    }
    call->request.version = presence->version;
    call->bound = true;
    call->generation = task->session->generation;
    if (presence->sent != presence->wanted)
        presence->losses = 0;
    presence->sent = presence->wanted;
    zr_verb_request(task, call, false, ZR_STEP(wrote));
}

/* Takes the next step, or waits if there is none. */
static void settle(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    bool stale = presence->written != presence->wanted && presence->wanted != presence->too_large;
    if (presence->events != presence->seen)
        look(task);
    else if (presence->seat.state == ZR_SEAT_TAKEN && stale)
        write_data(task);
    else
        zr_verb_await(task, &presence->work, ZR_STEP(settle));
}

/* ---- Beginning and ending ------------------------------------------------------------------- */

static void begin(struct zr_presence *presence, struct zr_next first);

static void cleaned(struct zr_task *task)
{
    zr_task_finish(task, task->status);
}

/* The session is lost or closed, the user wants to leave, or the create was refused. */
static void clean(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    zr_watch_part(&presence->follower);
    now(presence, ZR_PRESENCE_JOINING);
    zr_verb_vacate(task, &presence->seat, ZR_STEP(cleaned));
}

static void rest_first(struct zr_task *task)
{
    rest(task, of(task)->problem);
}

static void over(struct zr_task *task)
{
    struct zr_presence *presence = of(task);
    if (presence->left || zr_session_usable(task->session) != ZR_OK) {
        presence->running = false;
        presence->problem = ZR_OK;
        now(presence, ZR_PRESENCE_LEFT);
        zr_object_unref(&presence->znode.object);
    } else if (task->status == ZR_LOST) {
        begin(presence, ZR_STEP(contend));
    } else {
        presence->problem = task->status;
        begin(presence, ZR_STEP(rest_first));
    }
}

static const struct zr_task_kind kind = {
    .name = "presence", .clean = clean, .bound = true, .free = over};

static void begin(struct zr_presence *presence, struct zr_next first)
{
    presence->task = (struct zr_task){.kind = NULL};
    zr_task_start(&presence->task, &kind, presence->znode.session, presence->znode.path, -1, first);
    zr_task_detach(&presence->task);
}

void zr_presence_keep(struct zr_presence *presence)
{
    presence->running = true;
    zr_object_ref(&presence->znode.object);
    begin(presence, ZR_STEP(contend));
}

void zr_presence_leave(struct zr_presence *presence)
{
    presence->left = true;
    if (presence->running)
        zr_task_interrupt(&presence->task, ZR_CANCELED);
}
