#include "faults.h"

/* ---- What happens -------------------------------------------------------------------------- */

const struct zr_handle *handle_of_a(void)
{
    return now.a.session->now != NULL ? now.a.session->now->handle : NULL;
}

/* Counts the events of the last step of the world. */
static void look(void)
{
    const struct zr_handle *handle = handle_of_a();
    const struct zr_sim_server *leader = &now.world->servers[0];
    const struct zr_sim_server *follower = &now.world->servers[now.follower];
    if (handle != NULL) {
        bool sent = handle->lease.sent_us != now.sent_us;
        now.seen[BEAT] += sent;
        now.seen[ANSWER] += handle->lease.count < now.flying + sent;
        now.seen[COUNTED] += handle->lease.deadline_us > now.deadline_us;
        now.deadline_us = handle->lease.deadline_us;
        now.sent_us = handle->lease.sent_us;
        now.flying = handle->lease.count;
    }
    now.seen[PING] = follower->pings;
    now.seen[PONG] = follower->pongs;
    now.seen[ROUND] += now.ping_next != 1 && now.world->ping_next == 1;
    now.ping_next = now.world->ping_next;
    now.seen[WOKEN] += leader->paused_until_us > 0 && clock_us() >= leader->paused_until_us &&
                       now.free_us == leader->paused_until_us + now.t_us / 40 && now.left > 0;
    now.seen[DOOM] = zr_sim_scheduled(&now.world->doom);
}

void expect_next(void)
{
    now.due_us = NEVER;
    now.left = now.step < now.step_count ? now.steps[now.step].nth : 0;
    if (now.left == 0)
        return;
    memset(now.seen, 0, sizeof(now.seen));
    look();
    now.left += (int)now.seen[now.steps[now.step].on];
}

static void hold(unsigned held, int64_t us)
{
    zr_sim_partition(now.a.zk, held);
    now.release_us = clock_us() + us;
}

static void let_go(void)
{
    zr_sim_partition(now.a.zk, 0);
    zr_sim_hold_server(now.world, now.follower, ZR_SIM_TO_SERVER | ZR_SIM_TO_CLIENT, 0);
}

/* The next server may grant as much as A asked for at first, or less than before. */
static void cut_a(void)
{
    struct zr_handle *handle = now.a.session->now != NULL ? now.a.session->now->handle : NULL;
    if (handle != NULL)
        handle->timeout_ms = now.timeout_ms;
    zr_sim_grant(now.world, now.less_ms);
    zr_sim_prefer(now.a.zk, (now.follower + 1) % 3);
    zr_sim_cut(now.a.zk, 0, below(2) == 0);
    if ((now.follower + 1) % 3 != 0 && below(4) > 0)
        now.follower = (now.follower + 1) % 3; /* later faults strike the server that A uses now */
}

static int64_t aligned(int64_t us)
{
    const struct zr_handle *handle = handle_of_a();
    if (handle == NULL)
        return us;
    int64_t sent_us = handle->lease.sent_us, gap_us = now.t_us / 16;
    int64_t gaps = (clock_us() + us - sent_us) / gap_us + 1;
    return sent_us + gaps * gap_us - below(now.t_us / 60) - clock_us();
}

static void pause_leader(const struct step *step)
{
    int64_t us = step->aligned ? aligned(step->us) : step->us;
    zr_sim_pause_server(now.world, 0, us);
    now.free_us = clock_us() + us + now.t_us / 40;
}

static void act(const struct step *step)
{
    switch (step->act) {
    case PAUSE_LEADER:
        pause_leader(step);
        break;
    case PAUSE_FOLLOWER:
        zr_sim_pause_server(now.world, now.follower, step->us);
        break;
    case PAUSE_A:
        zr_sim_pause(now.a.zk, step->us);
        break;
    case PAUSE_B:
        zr_sim_pause(now.b.zk, step->us);
        break;
    case HOLD_REQUESTS:
    case HOLD_ANSWERS:
    case HOLD_BOTH:
        hold(step->act == HOLD_BOTH ? 3 : step->act == HOLD_ANSWERS ? 2 : 1, step->us);
        break;
    case HOLD_FROM_F:
    case HOLD_TO_F:
        zr_sim_hold_server(now.world, now.follower,
                           step->act == HOLD_TO_F ? ZR_SIM_TO_CLIENT : ZR_SIM_TO_SERVER, step->us);
        break;
    case CUT_A:
        cut_a();
        break;
    case SEVER:
        zr_sim_sever(now.world, now.follower);
        break;
    case ISOLATE:
        zr_sim_isolate(now.world, now.follower, true);
        break;
    case LET_GO:
        let_go();
        break;
    case WAIT:
        break;
    }
}

static void act_when_due(void)
{
    const struct step *step = &now.steps[now.step];
    if (clock_us() >= now.release_us) {
        zr_sim_partition(now.a.zk, 0);
        now.release_us = NEVER;
    }
    if (now.due_us == NEVER && now.left > 0 && now.seen[step->on] >= now.left)
        now.due_us = clock_us() + step->delay_us;
    if (clock_us() < now.due_us)
        return;
    if (step->act == PAUSE_LEADER && clock_us() < now.free_us) {
        now.due_us = now.free_us; /* the leader must run for a while first */
        return;
    }
    act(step);
    now.step++;
    expect_next();
}

void go_on(void)
{
    int64_t due_us = now.due_us < now.release_us ? now.due_us : now.release_us;
    struct zr_sim_event *event = zr_sim_next_event(&now.world->agenda);
    if (due_us < event->at_us)
        zr_sim_advance(now.world, due_us - clock_us());
    else
        zr_sim_step(now.world);
    look();
    act_when_due();
    dispatch(&now.a);
    dispatch(&now.b);
    step_total++;
}
