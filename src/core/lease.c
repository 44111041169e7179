/*
 * Which heartbeats prove that the session lives, and until when.
 *
 * What the servers do. Only the leader expires a session: T (the timeout) after its last touch, or
 * later. A request that a follower forwards does not touch it. The follower notes the session, and
 * names it in its reply to the leader's next ping; that reply touches it. The leader pings every
 * half tick. Leader and follower talk over one connection, in order, and the follower answers a
 * ping before it reads on.
 *
 * The rule. A heartbeat is a request that the leader answers. k counts, and the session lives until
 * its send time plus T, as soon as four later ones were answered on the same connection:
 *     h   sent LATE or more after the answer to k
 *     i   sent half a tick and twice LATE or more after the answer to h
 *     i'  sent LATE or more after the answer to i
 *     j   sent after the answer to i'
 *
 * Why it holds. Suppose that the leader sent the follower a ping after it had seen k and before it
 * answered i'. The follower had noted k before that ping came, and replied before it passed the
 * answer to i' on. The client sent j after that answer, so the reply was ahead of j, and the leader
 * had handled it when it answered j: the session was touched after k was sent. No delay and no
 * pause of the client, the follower or the links can change that order.
 *
 * There is such a ping if the leader's thread that pings gets its turn within LATE whenever the
 * leader runs. A pause stops the whole leader, at any moment, for any time; between two pauses it
 * runs for LATE at least. That thread notes the time, waits for half a tick, pings each server, and
 * notes the time again. If it had just pinged ours when the leader saw k, a pause may come before
 * it notes the time; but it has noted it by LATE after the leader saw h. So a ping is due by half a
 * tick and LATE after the answer to h. The leader was awake when it saw i, LATE or more after that.
 * Either it had been awake since the ping was due, and the ping is out; or it woke up after that,
 * and the ping goes out within LATE of its waking. i' shows that so much time has passed.
 *
 * After the deadline nothing extends the lease: the leader may be about to expire the session, and
 * may still accept a touch in that state. Servers may grant different timeouts, and the ping reply
 * of one may come late: so the smallest that we were told counts. A smaller one whose answer was
 * lost counts for the leader, too, and nothing here can know it (docs/lease.md). Until heartbeats
 * count, the handshake does, from the moment the connect began: the leader itself handles it.
 *
 * The last hundredth of T is for clocks that run at different rates.
 */
#include "core/lease.h"

#include <string.h>

#define SECOND_US INT64_C(1000000)

#define BEATS 16 /* in a timeout */
#define LATE 40  /* the part of a timeout by which the leader's pings may be late */
#define STAGES 4 /* h, i, i', j */

void zr_lease_init(struct zr_lease *lease, int64_t tick_us)
{
    memset(lease, 0, sizeof(*lease));
    lease->tick_us = tick_us;
}

/* ---- Half a tick --------------------------------------------------------------------------- */

/*
 * By default a server grants no timeout below two ticks, so a tick is T/2 at most. A server with a
 * lower minSessionTimeout most likely has the default tick, 2 s.
 */
int64_t zr_lease_tick_us(int64_t tick_us, int64_t timeout_us)
{
    if (tick_us > 0)
        return tick_us;
    return timeout_us / 2 > 2 * SECOND_US ? timeout_us / 2 : 2 * SECOND_US;
}

/* From the answer to h until i may be sent. */
static int64_t ping_us(int64_t tick_us, int64_t timeout_us)
{
    return zr_lease_tick_us(tick_us, timeout_us) / 2 + 2 * (timeout_us / LATE);
}

int64_t zr_lease_room_us(int64_t tick_us, int64_t timeout_us)
{
    int64_t gap_us = timeout_us / BEATS;
    int64_t gaps = gap_us > 0 ? (ping_us(tick_us, timeout_us) + gap_us - 1) / gap_us : 0;
    /* h, the gaps until i, then i' and j, and the next heartbeat does not come */
    return timeout_us - timeout_us / 100 - (gaps + 4) * gap_us;
}

/* ---- Sending ------------------------------------------------------------------------------- */

bool zr_lease_sent(struct zr_lease *lease, int64_t now_us)
{
    lease->sent_us = now_us;
    if (lease->count == ZR_LEASE_FLYING)
        return false;
    lease->flying_us[(lease->first + lease->count++) % ZR_LEASE_FLYING] = now_us;
    return true;
}

void zr_lease_unsent(struct zr_lease *lease)
{
    lease->count--;
}

int64_t zr_lease_next(const struct zr_lease *lease)
{
    return lease->sent_us + lease->timeout_us / BEATS;
}

/* ---- What proves --------------------------------------------------------------------------- */

static int64_t until(const struct zr_lease *lease, int64_t from_us)
{
    return from_us + lease->timeout_us - lease->timeout_us / 100;
}

static void extend(struct zr_lease *lease, int64_t from_us, int64_t now_us)
{
    bool over = lease->deadline_us != 0 && now_us >= lease->deadline_us;
    if (!over && until(lease, from_us) > lease->deadline_us)
        lease->deadline_us = until(lease, from_us);
}

/* How long after this stage the next heartbeat must be sent that the pending one needs. */
static int64_t wait_us(const struct zr_lease *lease, int stage)
{
    const int64_t waits_us[STAGES] = {
        lease->timeout_us / LATE, ping_us(lease->tick_us, lease->timeout_us),
        lease->timeout_us / LATE, 1, /* what has the same time need not be later */
    };
    return waits_us[stage];
}

static void drop(struct zr_lease *lease, unsigned count)
{
    lease->pending_count -= count;
    memmove(lease->pending, lease->pending + count, lease->pending_count * sizeof(*lease->pending));
}

/* A heartbeat that was sent at sent_us was answered: it may be the next one that others need. An
   older one counts no later than a younger one. */
static void confirm(struct zr_lease *lease, int64_t sent_us, int64_t now_us)
{
    unsigned proved = 0;
    for (unsigned i = 0; i < lease->pending_count; i++) {
        struct zr_lease_beat *beat = &lease->pending[i];
        if (sent_us < beat->mark_us + wait_us(lease, beat->stage))
            continue;
        beat->mark_us = now_us;
        proved += ++beat->stage == STAGES;
    }
    if (proved == 0)
        return;
    extend(lease, lease->pending[proved - 1].sent_us, now_us);
    drop(lease, proved);
}

void zr_lease_answered(struct zr_lease *lease, bool proof, int64_t now_us)
{
    int64_t sent_us = lease->flying_us[lease->first];
    lease->first = (lease->first + 1) % ZR_LEASE_FLYING;
    lease->count--;
    if (!proof)
        return;
    lease->proof_us = sent_us;
    confirm(lease, sent_us, now_us);
    if (lease->pending_count == ZR_LEASE_PENDING)
        drop(lease, 1);
    lease->pending[lease->pending_count++] = (struct zr_lease_beat){sent_us, now_us, 0};
}

void zr_lease_granted(struct zr_lease *lease, int64_t began_us, int64_t timeout_us)
{
    if (lease->timeout_us == 0 || timeout_us < lease->timeout_us)
        lease->timeout_us = timeout_us;
    lease->pending_count = 0;
    if (until(lease, began_us) < lease->deadline_us)
        lease->deadline_us = until(lease, began_us);
}

void zr_lease_handshake(struct zr_lease *lease, int64_t began_us, int64_t now_us)
{
    extend(lease, began_us, now_us);
}
