#ifndef ZR_SPEC_ORACLE_H
#define ZR_SPEC_ORACLE_H

/*
 * oracle.h: what must hold in every history of the lock. It is looked at after each transaction of
 * the leader, where nodes come and go, and after each dispatch, where holds do.
 *
 * When sessions are killed from outside (shape.kills) nobody's lease is true, and a hold of a
 * killed session counts as over: there only the token protects. Without that, no exception is made.
 */

#include "history.h"

static inline struct zr_hold *hold_of(const struct contender *contender)
{
    if (contender->hold != NULL)
        return (struct zr_hold *)contender->hold;
    return contender->task != NULL ? zr_hold_of(contender->task) : NULL;
}

static inline bool killed(const struct zr_hold *hold)
{
    return now.shape.kills && !zr_sim_session_alive(now.world, hold->session->id);
}

/* ---- Exclusion ----------------------------------------------------------------------------- */

static inline bool check_valid(const struct contender *contender)
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

static inline void check_exclusion(void)
{
    const struct contender *owner = NULL;
    EACH_PROCESS(p)
    {
        EACH_CONTENDER(c, p)
        {
            if (!check_valid(c))
                continue;
            if (owner != NULL)
                wrong("%d.%d and %d.%d hold it at once", owner->process->number, owner->number,
                      p->number, c->number);
            owner = c;
        }
    }
}

/* ---- Order --------------------------------------------------------------------------------- */

struct older {
    int64_t than; /* czxid */
    int count;
};

static inline void count_older(void *with, const struct zr_sim_view *view)
{
    struct older *older = with;
    older->count += strlen(view->path) > strlen(DIR) && view->stat.czxid < older->than;
}

/* Seen for the first time: it must be the youngest grant, and the oldest seat. */
static inline void granted(struct contender *contender, const struct zr_hold *hold)
{
    struct older older = {hold->seat.czxid, 0};
    contender->granted = true;
    now.grants++;
    say("%d.%d is granted %s, token %llx", contender->process->number, contender->number,
        hold->seat.path, (unsigned long long)hold->seat.czxid);
    if (killed(hold))
        return;
    if (older.than <= now.token)
        wrong("token %llx was granted after %llx", (long long)older.than, (long long)now.token);
    now.token = older.than;
    zr_sim_walk(now.world, DIR, count_older, &older);
    if (older.count > 0)
        wrong("%d.%d was granted before %d who came first", contender->process->number,
              contender->number, older.count);
}

static inline void check_grants(void)
{
    EACH_PROCESS(p)
    EACH_CONTENDER(c, p)
    {
        const struct zr_hold *hold = hold_of(c);
        if (hold != NULL && !c->granted && hold->state == ZR_HELD)
            granted(c, hold);
    }
}

/* ---- To try -------------------------------------------------------------------------------- */

/* A failing try is one read, so it tells what its server knew: with one server that is the truth, a
   follower may be behind by its lag, or by five ticks when it is isolated. */
static inline int64_t behind_us(void)
{
    return now.shape.servers == 1 ? 0 : 5 * now.shape.tick_ms * MS + SECOND;
}

static inline void watch_emptiness(void)
{
    size_t count = zr_sim_count(now.world, DIR);
    if (count > 1000)
        wrong("znodes pile up");
    if (count > 0)
        now.emptied_us = NEVER;
    else if (now.emptied_us == NEVER)
        now.emptied_us = clock_us();
}

static inline bool was_occupied(void)
{
    return now.emptied_us == NEVER || clock_us() - now.emptied_us < behind_us();
}

/* Somebody else stands there while it tries. */
static inline void see_other(void *with, const struct zr_sim_view *view)
{
    struct contender *contender = with;
    const struct zr_seat *seat = &zr_hold_of(contender->task)->seat;
    bool own = seat->path != NULL && strncmp(view->path, seat->path, seat->prefix) == 0;
    if (strlen(view->path) > strlen(DIR) && !own)
        contender->occupied = true;
}

static inline void watch_tries(void)
{
    EACH_PROCESS(p)
    EACH_CONTENDER(c, p)
    if (c->task != NULL && c->limit_us == 0 && !c->occupied)
        zr_sim_walk(now.world, DIR, see_other, c);
}

/* ---- Both ---------------------------------------------------------------------------------- */

/* What is written under the lock must never go back. */
static inline void check_register(void *with, const struct zr_sim_view *view)
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

static inline void saw(void *with, int64_t zxid)
{
    (void)with, (void)zxid;
    check_exclusion();
    watch_tries();
    watch_emptiness();
    zr_sim_walk(now.world, REGISTER, check_register, NULL);
}

/* ---- The end of an attempt ------------------------------------------------------------------ */

static inline bool was_lost(const struct contender *contender)
{
    return contender->its->generation > contender->generation && !now.calm;
}

/* Only for its declared reason. */
static inline bool may_end_with(const struct contender *contender, enum zr_status status)
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
    case ZR_CONNECTION_LOSS:
        return contender->limit_us == 0 && !now.calm;
    case ZR_NO_MEMORY:
        return ran_out(contender->failures);
    }
    return false;
}

static inline void check_end(const struct contender *contender, enum zr_status status)
{
    say("%d.%d: %s", contender->process->number, contender->number, zr_status_word(status));
    now.lost += status == ZR_LOST;
    now.timeouts += status == ZR_TIMEOUT;
    if (!may_end_with(contender, status))
        wrong("%d.%d ends with %s", contender->process->number, contender->number,
              zr_status_word(status));
    if (status == ZR_TIMEOUT && contender->limit_us == 0 && !contender->occupied)
        wrong("%d.%d tried in vain, but nobody was there", contender->process->number,
              contender->number);
}

#endif
