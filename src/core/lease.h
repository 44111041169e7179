#ifndef ZR_LEASE_H
#define ZR_LEASE_H

/*
 * lease.h: computes until when the session certainly lives on the servers, from the times at which
 * heartbeats were sent and answered. Pure functions; times in microseconds on one clock. The I/O
 * thread.
 */

#include <stdbool.h>
#include <stdint.h>

/* There are never more unanswered heartbeats than this, because the client gives up a silent
   connection after 2/3 of the timeout. */
#define ZR_LEASE_FLYING 16

/* More pending heartbeats are never useful: an older one was sent more than a timeout ago. */
#define ZR_LEASE_PENDING 20

/* An answered heartbeat that does not count yet. */
struct zr_lease_beat {
    int64_t sent_us;
    int64_t mark_us; /* when the answer came that brought it to this stage */
    int stage;       /* how many of the later heartbeats that it needs were answered */
};

struct zr_lease {
    int64_t tick_us;                    /* the servers' tickTime; 0: not known */
    int64_t timeout_us;                 /* the smallest granted to this session; 0: none yet */
    int64_t flying_us[ZR_LEASE_FLYING]; /* send times of unanswered heartbeats, a ring */
    unsigned first, count;
    int64_t sent_us; /* when the last heartbeat was due, sent or not */
    struct zr_lease_beat pending[ZR_LEASE_PENDING]; /* the oldest first */
    unsigned pending_count;
    int64_t deadline_us; /* 0: no session yet */
    int64_t proof_us;    /* send time of the last heartbeat that was answered; 0: none yet */
};

/* No session. tick_us: the servers' tickTime; 0: not known. */
void zr_lease_init(struct zr_lease *lease, int64_t tick_us);

/* A heartbeat is sent now. False: too many are unanswered, so do not send this one. */
bool zr_lease_sent(struct zr_lease *lease, int64_t now_us);

/* The heartbeat that was noted last was not sent after all. */
void zr_lease_unsent(struct zr_lease *lease);

/* The oldest unanswered heartbeat was answered now. proof: the leader has seen it. */
void zr_lease_answered(struct zr_lease *lease, bool proof, int64_t now_us);

/*
 * A new connection: the server granted this timeout in a handshake that began at began_us. Call it
 * before the handshake is confirmed: the grant may shorten the lease. Heartbeats of the connection
 * before prove nothing any more.
 */
void zr_lease_granted(struct zr_lease *lease, int64_t began_us, int64_t timeout_us);

/* The leader confirmed the handshake that began at began_us; we learn it now. */
void zr_lease_handshake(struct zr_lease *lease, int64_t began_us, int64_t now_us);

/* When the next heartbeat is due: a sixteenth of the timeout after the last. */
int64_t zr_lease_next(const struct zr_lease *lease);

/* What is left of the lease, at least, if heartbeats were answered at once until now and are
   answered no more. If it is not above 0, heartbeats cannot renew the lease. */
int64_t zr_lease_room_us(int64_t tick_us, int64_t timeout_us);

/* The tick that the rule assumes for this timeout when tick_us is 0, else tick_us. */
int64_t zr_lease_tick_us(int64_t tick_us, int64_t timeout_us);

#endif
