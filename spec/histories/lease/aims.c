#include "aims.h"

#define FOR_LONG                                                                                   \
    {                                                                                              \
        0, 900, 900                                                                                \
    }

static const struct aim aims[] = {
    /* Half a tick. No message is delayed. */
    {.count = 1, .steps = {{.on = COUNTED, .most = 16, .act = ISOLATE}}},
    /*
     * h. Heartbeats are held from one reply to the next, so that this reply does not name the
     * session. They are answered before the leader has noted the time of its next ping. Then the
     * leader sleeps, and pings half a tick after it wakes up.
     */
    {.count = 5,
     .steps = {{.on = PONG, .act = HOLD_REQUESTS, .us = FOR_LONG},
               {.on = PONG, .act = LET_GO},
               {.on = ANSWER, .most = 2, .act = PAUSE_LEADER, .us = {1, 50, 200}},
               {.on = WOKEN, .act = WAIT},
               {.on = COUNTED, .most = 3, .act = ISOLATE}}},
    /* i'. The leader sleeps while a ping is due, and wakes up just before a heartbeat arrives. */
    {.count = 3,
     .steps = {{.on = PONG, .delay = {0, 30, 200}, .act = PAUSE_LEADER, .us = {1, 0, 250}, true},
               {.on = WOKEN, .act = WAIT},
               {.on = COUNTED, .most = 2, .act = ISOLATE}}},
    /* j. The leader sleeps while a ping is due. F gets that ping together with later answers, and
       F's reply is lost. */
    {.count = 4,
     .steps = {{.on = PONG, .delay = {0, 30, 200}, .act = PAUSE_LEADER, .us = {1, 0, 250}},
               {.on = PING, .act = HOLD_TO_F, .us = {0, 15, 90}},
               {.on = PONG, .act = HOLD_FROM_F, .us = FOR_LONG},
               {.on = COUNTED, .act = ISOLATE}}},
    /* A lease that is over. F's reply to the ping of j arrives while the leader is ending the
       session. */
    {.early = true,
     .lazy = true,
     .count = 4,
     .steps = {{.on = ANSWER, .most = 3, .act = PAUSE_LEADER, .us = {1, 100, 250}},
               {.on = PING, .act = HOLD_TO_F, .us = {0, 15, 90}},
               {.on = PONG, .act = HOLD_FROM_F, .us = FOR_LONG},
               {.on = DOOM, .act = LET_GO}}},
    /* The smallest timeout. A reconnects, and is granted less. Then it reaches no server: if only
       one were cut off, A would soon find another. */
    {.shrinks = true,
     .count = 2,
     .steps = {{.on = ANSWER, .act = CUT_A},
               {.on = ANSWER, .most = 16, .act = HOLD_BOTH, .us = {4, 1500, 1500}}}},
};

static int64_t within(const struct span *span)
{
    int64_t thousandths = span->from + below(span->to - span->from + 1);
    return span->pings * now.tick_ms * MS / 2 + thousandths * now.t_us / 1000;
}

void choose_aim(void)
{
    if (below(2) == 0)
        now.aim = &aims[below(sizeof(aims) / sizeof(aims[0]))];
}

void take_aim(const struct aim *aim)
{
    now.step_count = aim->count;
    for (int i = 0; i < aim->count; i++)
        now.steps[i] = (struct step){.on = aim->steps[i].on,
                                     .nth = 1 + (int)below(aim->steps[i].most),
                                     .delay_us = within(&aim->steps[i].delay),
                                     .us = within(&aim->steps[i].us),
                                     .act = aim->steps[i].act,
                                     .aligned = aim->steps[i].aligned};
}
