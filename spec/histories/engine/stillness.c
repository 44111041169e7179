#include "stillness.h"

#include "contender.h"
#include "process.h"

#define SETTLED_US (7 * SECOND)

static struct {
    int64_t quiet_us, until_us; /* when faults ended; when hold_still may run again */
    int count;
    /* Token of the last hold seen by hold_long: a new hold may have the address of an old one. */
    int64_t seen[MOST_PROCESSES][MOST_CONTENDERS];
} still;

void begin_stillness(void)
{
    memset(&still, 0, sizeof(still));
}

bool is_settled(void)
{
    return clock_us() > still.quiet_us + SETTLED_US;
}

/* A listing, or a chain of marks, is much faster, but after faults a broken link may not have been
   noticed yet. */
int64_t slow_us(void)
{
    return now.calm ? 100 * MS : 3 * SECOND;
}

/* Delays the actions of all contenders. */
static void hold_still(int64_t us)
{
    say("everybody holds still");
    EACH_PROCESS(p)
    EACH_CONTENDER(c, p)
    if (c->due_us != NEVER)
        c->due_us = (c->due_us > clock_us() ? c->due_us : clock_us()) + us;
    still.until_us = clock_us() + us + roll(100 * MS);
}

void hold_long(struct contender *contender)
{
    int64_t *seen = &still.seen[contender->process->number][contender->number];
    if (contender->part != HOLDING || contender->hold == NULL) /* it is just being released */
        return;
    int64_t token = ((const struct zr_hold *)contender->hold)->seat.czxid;
    if (*seen == token)
        return;
    *seen = token;
    if (!now.calm && !now.shape.scripted && roll(3) == 0)
        contender->due_us += roll(now.shape.faults_us + SECOND);
}

void hold_still_at_times(void)
{
    if (now.quiet_us != NEVER)
        return;
    if (still.quiet_us == 0) {
        still.quiet_us = clock_us();
        hold_still(now.calm ? roll(20 * MS) : SETTLED_US + 2 * slow_us());
    } else if (clock_us() > still.until_us && (now.calm || ++still.count < 5)) {
        hold_still(2 * slow_us());
    }
}
