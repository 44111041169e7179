#include "oracle.h"

struct zr_hold *hold_of(const struct contender *contender)
{
    if (contender->hold != NULL)
        return (struct zr_hold *)contender->hold;
    return contender->task != NULL ? zr_hold_of(contender->task) : NULL;
}

static bool killed(const struct zr_hold *hold)
{
    for (int i = 0; i < now.removed_count; i++)
        if (now.removed[i] == hold->seat.czxid)
            return true;
    return now.shape.kills && !zr_sim_session_alive(now.world, hold->session->id);
}

/* ---- Exclusion ----------------------------------------------------------------------------- */

bool check_valid(const struct contender *contender)
{
    struct zr_hold *hold = hold_of(contender);
    struct zr_stat stat;
    if (hold == NULL || hold->state != ZR_HELD || !call(&hold->object, "valid") || killed(hold))
        return false;
    bool there = zr_sim_stat(now.world, hold->seat.path, &stat);
    if (!there || stat.ephemeral_owner != hold->session->id || stat.czxid != hold->seat.czxid)
        wrong("%d.%d has a valid hold, but no node %s", contender->process->number,
              contender->number, hold->seat.path);
    return true;
}

void check_holds(void)
{
    struct contender *holders[MOST_PROCESSES * MOST_CONTENDERS];
    int count = 0;
    EACH_PROCESS(p)
    EACH_CONTENDER(c, p)
    if (check_valid(c))
        holders[count++] = c;
    now.recipe->held(holders, count);
}

void hold_at_once(const struct contender *one, const struct contender *other)
{
    wrong("%d.%d and %d.%d hold it at once", one->process->number, one->number,
          other->process->number, other->number);
}

void one_at_a_time(struct contender *const *holders, int count)
{
    if (count > 1)
        hold_at_once(holders[0], holders[1]);
}

/* ---- Order --------------------------------------------------------------------------------- */

void count_node(void *with, const struct zr_sim_view *view)
{
    struct census *census = with;
    const struct zr_seat *but = census->but;
    size_t dir = strlen(now.recipe->dir);
    bool excepted =
        but != NULL && but->path != NULL && strncmp(view->path, but->path, but->prefix) == 0;
    census->count += strlen(view->path) > dir && !excepted &&
                     strstr(view->path + dir, census->kind) != NULL &&
                     view->stat.czxid < census->before;
}

int others(const struct zr_seat *own, const char *kind)
{
    struct census census = {own, kind, INT64_MAX, 0};
    zr_sim_walk(now.world, now.recipe->dir, count_node, &census);
    return census.count;
}

void nobody_before(const struct contender *contender, const struct zr_hold *hold, const char *kind)
{
    struct census census = {NULL, kind, hold->seat.czxid, 0};
    zr_sim_walk(now.world, now.recipe->dir, count_node, &census);
    if (census.count > 0)
        wrong("%d.%d was granted before %d who came first", contender->process->number,
              contender->number, census.count);
}

void youngest_grant(const struct zr_hold *hold)
{
    int64_t token = token_of(hold);
    if (token <= now.token)
        wrong("token %llx was granted after %llx", (long long)token, (long long)now.token);
    now.token = token;
}

/* Counts contenders of other processes that asked earlier, but whose create came later. */
static void count_overtaken(const struct contender *contender, const struct zr_hold *hold)
{
    EACH_PROCESS(p)
    EACH_CONTENDER(c, p)
    {
        const struct zr_hold *other = hold_of(c);
        now.overtaken += other != NULL && p != contender->process &&
                         c->began_us < contender->began_us && other->seat.czxid > hold->seat.czxid;
    }
}

static void granted(struct contender *contender, const struct zr_hold *hold)
{
    contender->granted = true;
    now.grants++;
    say("%d.%d is granted %s, token %llx", contender->process->number, contender->number,
        hold->seat.path, (unsigned long long)token_of(hold));
    count_overtaken(contender, hold);
    if (!killed(hold))
        now.recipe->granted(contender, hold);
}

void check_grants(void)
{
    EACH_PROCESS(p)
    EACH_CONTENDER(c, p)
    {
        const struct zr_hold *hold = hold_of(c);
        if (hold == NULL || hold->state != ZR_HELD)
            continue;
        if (!c->granted)
            granted(c, hold);
        if (hold->seat.generation != hold->session->generation)
            wrong("%d.%d holds it on a session that is over", p->number, c->number);
    }
}

/* ---- To try -------------------------------------------------------------------------------- */

/* How old the answer to a failing try may be. The try is one read, so it sees what its server
   knows. One server alone is always up to date. A follower is behind by its lag, or by up to five
   ticks while it is isolated. */
static int64_t behind_us(void)
{
    return now.shape.servers == 1 ? 0 : 5 * now.shape.tick_ms * MS + SECOND;
}

static void watch_occupation(void)
{
    for (int mode = 0; mode < now.recipe->modes; mode++)
        if (now.recipe->may_fail(mode, NULL))
            now.free_us[mode] = NEVER;
        else if (now.free_us[mode] == NEVER)
            now.free_us[mode] = clock_us();
}

bool was_occupied(int mode)
{
    return now.free_us[mode] == NEVER || clock_us() - now.free_us[mode] < behind_us();
}

/* True if another contender is there during the try; or if the sequence numbers are used up, so
   that the directory must be empty before anyone is granted. */
static bool may_fail_now(const struct contender *c)
{
    const struct zr_seat *own = &zr_hold_of(c->task)->seat;
    return now.recipe->may_fail(c->mode, own) || (now.used_up && others(own, "") > 0);
}

void watch_tries(void)
{
    EACH_PROCESS(p)
    EACH_CONTENDER(c, p)
    if (c->task != NULL && c->limit_us == 0 && !c->occupied)
        c->occupied = may_fail_now(c);
}

/* ---- Both ---------------------------------------------------------------------------------- */

/* The token in the register must never decrease. */
static void check_register(void *with, const struct zr_sim_view *view)
{
    (void)with;
    char text[17] = {0};
    if (view->data.length != 16)
        return;
    memcpy(text, view->data.at, 16);
    int64_t token = (int64_t)strtoull(text, NULL, 16);
    if (token < now.written)
        wrong("token %llx wrote after %llx", (long long)token, (long long)now.written);
    now.written = token;
}

void saw(void *with, int64_t zxid)
{
    (void)with, (void)zxid;
    check_holds();
    watch_tries();
    watch_occupation();
    if (zr_sim_count(now.world, now.recipe->dir) > 1000)
        wrong("znodes pile up");
    zr_sim_walk(now.world, REGISTER, check_register, NULL);
}

/* ---- The end of an attempt ------------------------------------------------------------------ */

static bool was_lost(const struct contender *contender)
{
    return !zr_session_valid(contender->its, contender->generation) && !now.calm;
}

void check_told(struct process *process)
{
    EACH_CONTENDER(c, process)
    {
        struct zr_hold *hold = hold_of(c);
        if (c->part == WAITING && c->limit_us > 0 && clock_us() > c->began_us + c->limit_us)
            wrong("%d.%d still waits after its time limit", process->number, c->number);
        if (hold != NULL && hold->state == ZR_HELD && !call(&hold->object, "valid"))
            wrong("%d.%d was not told that its hold is over", process->number, c->number);
    }
}

bool usual_end(const struct contender *contender, enum zr_status status)
{
    switch ((int)status) {
    case ZR_OK:
        return true;
    case ZR_TIMEOUT:
        return contender->limit_us >= 0;
    case ZR_CANCELED:
        return contender->canceled;
    case ZR_LOST:
        return was_lost(contender);
    case ZR_CLOSED:
        return contender->its->state == ZR_STATE_CLOSED;
    case ZR_CONNECTION_LOSS: /* no server answered within the limit */
        return contender->limit_us >= 0;
    case ZR_NO_MEMORY:
        return ran_out(contender->failures);
    }
    return false;
}

void check_end(const struct contender *contender, enum zr_status status)
{
    say("%d.%d: %s", contender->process->number, contender->number, zr_status_word(status));
    now.lost += status == ZR_LOST;
    now.timeouts += status == ZR_TIMEOUT;
    now.cancels += status == ZR_CANCELED;
    if (!now.recipe->may_end_with(contender, status))
        wrong("%d.%d ends with %s", contender->process->number, contender->number,
              zr_status_word(status));
    if (status == ZR_TIMEOUT && contender->limit_us == 0 && !contender->occupied)
        wrong("%d.%d failed a try, but there was no other contender", contender->process->number,
              contender->number);
}
