#ifndef ZR_LEASE_H
#define ZR_LEASE_H

/*
 * lease.h: until when the session surely lives, from the send times of heartbeats and the order of
 * their answers. Pure functions; times in microseconds on one clock. The I/O thread.
 */

#include <stdbool.h>
#include <stdint.h>

/* More are never under way: the client gives a silent connection up after 2/3 of the timeout. */
#define ZR_LEASE_FLYING 8

struct zr_lease_beat {
    int64_t sent_us, answered_us;
};

struct zr_lease {
    int64_t flying_us[ZR_LEASE_FLYING]; /* send times of the unanswered, a ring */
    unsigned first, count;
    int64_t sent_us;                             /* when the last one was due, answered or not */
    struct zr_lease_beat heard[ZR_LEASE_FLYING]; /* acknowledged, the oldest first ... */
    unsigned heard_count;                        /* ... whose proof is still missing */
    int64_t deadline_us;                         /* 0: no session yet */
};

/* A heartbeat goes out now. False: too many are unanswered, this one is left out. */
bool zr_lease_sent(struct zr_lease *lease, int64_t now_us);

/* The one that was noted last was not sent after all. */
void zr_lease_unsent(struct zr_lease *lease);

/* The oldest unanswered one came back now; `proof`: the leader has seen it. timeout_us:
   negotiated. */
void zr_lease_answered(struct zr_lease *lease, bool proof, int64_t now_us, int64_t timeout_us);

/* A handshake that began at began_us was answered, confirmed or not: when the server grants less
   than before, the session may end earlier than was thought. */
void zr_lease_granted(struct zr_lease *lease, int64_t began_us, int64_t timeout_us);

/* A handshake that began at began_us was confirmed by the leader. */
void zr_lease_handshake(struct zr_lease *lease, int64_t began_us, int64_t timeout_us);

/* When the next heartbeat is due: a quarter of the timeout after the last. */
int64_t zr_lease_next(const struct zr_lease *lease, int64_t timeout_us);

#endif
