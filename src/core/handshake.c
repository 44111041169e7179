#include "core/handshake.h"

#define FIRST_US INT64_C(1000000) /* the first limit, or a share of the session's timeout */
#define SHARE 6
#define LEAST_US INT64_C(100000)
#define DOUBLED 10 /* times at most; the library's own limit is the shorter one long before */

static int64_t first_us(int32_t timeout_ms)
{
    int64_t limit_us = (int64_t)timeout_ms * 1000 / SHARE;
    if (limit_us > FIRST_US)
        return FIRST_US;
    return limit_us < LEAST_US ? LEAST_US : limit_us;
}

/* Up to a quarter, so that not all clients of a slow server come again at once. */
static int64_t jitter_us(int64_t now_us, int64_t limit_us)
{
    uint64_t dice = (uint64_t)now_us * UINT64_C(0x9e3779b97f4a7c15) >> 40;
    return (int64_t)(dice % (uint64_t)(limit_us / 4));
}

void zr_handshake_begin(struct zr_handshake *handshake, int64_t now_us, int32_t timeout_ms)
{
    int64_t limit_us = first_us(timeout_ms);
    limit_us += jitter_us(now_us, limit_us);
    handshake->since_us = now_us;
    handshake->limit_us = limit_us << handshake->unanswered;
}

void zr_handshake_heard(struct zr_handshake *handshake, int64_t now_us)
{
    handshake->since_us = now_us;
}

void zr_handshake_answered(struct zr_handshake *handshake)
{
    handshake->unanswered = 0;
}

void zr_handshake_late(struct zr_handshake *handshake)
{
    handshake->unanswered += handshake->unanswered < DOUBLED;
}

int64_t zr_handshake_due_us(const struct zr_handshake *handshake)
{
    return handshake->since_us + handshake->limit_us;
}
