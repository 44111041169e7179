/*
 * 1. Every quarter of the timeout a request goes through the leader. 2. When it is answered, the
 * one *before* it counts: a follower tells the leader of our traffic late, and only the later
 * answer proves that it was still connected to do so. It proves that only if it was sent a while
 * after the earlier one was answered: when several were held up on their way, the follower has
 * heard all of them at once, and may have been cut off right after. 3. The deadline is that send
 * time plus 0.99 of the timeout; the hundredth is for clocks that run at different rates. 4. Until
 * two are in, the handshake counts, from the moment the connect began: the leader itself handles
 * it. 5. A handshake may grant less than the one before (the servers were restarted with other
 * limits): from then on the session may end earlier than it promised, so the deadline moves back.
 *
 * Answers come in the order of the requests, hence a ring of send times is enough.
 */
#include "core/lease.h"

#include <string.h>

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

static int64_t until(int64_t from_us, int64_t timeout_us)
{
    return from_us + timeout_us - timeout_us / 100;
}

static void extend(struct zr_lease *lease, int64_t from_us, int64_t timeout_us)
{
    if (until(from_us, timeout_us) > lease->deadline_us)
        lease->deadline_us = until(from_us, timeout_us);
}

static void drop_heard(struct zr_lease *lease, unsigned count)
{
    lease->heard_count -= count;
    memmove(lease->heard, lease->heard + count, lease->heard_count * sizeof(*lease->heard));
}

/* One that was sent then has been answered: those count that were answered well before. */
static void confirm(struct zr_lease *lease, int64_t sent_us, int64_t timeout_us)
{
    unsigned count = 0;
    while (count < lease->heard_count &&
           lease->heard[count].answered_us + timeout_us / 8 <= sent_us)
        count++;
    if (count == 0)
        return;
    extend(lease, lease->heard[count - 1].sent_us, timeout_us);
    drop_heard(lease, count);
}

void zr_lease_answered(struct zr_lease *lease, bool proof, int64_t now_us, int64_t timeout_us)
{
    int64_t sent_us = lease->flying_us[lease->first];
    lease->first = (lease->first + 1) % ZR_LEASE_FLYING;
    lease->count--;
    if (!proof)
        return;
    confirm(lease, sent_us, timeout_us);
    if (lease->heard_count == ZR_LEASE_FLYING)
        drop_heard(lease, 1);
    lease->heard[lease->heard_count++] = (struct zr_lease_beat){sent_us, now_us};
}

void zr_lease_granted(struct zr_lease *lease, int64_t began_us, int64_t timeout_us)
{
    if (until(began_us, timeout_us) < lease->deadline_us)
        lease->deadline_us = until(began_us, timeout_us);
}

void zr_lease_handshake(struct zr_lease *lease, int64_t began_us, int64_t timeout_us)
{
    extend(lease, began_us, timeout_us);
}

int64_t zr_lease_next(const struct zr_lease *lease, int64_t timeout_us)
{
    return lease->sent_us + timeout_us / 4;
}
