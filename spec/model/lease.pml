/*
 * The lease of a session: can a holder believe in its lock after another client was granted it?
 *
 * One client, its follower (or observer), the leader, and a rival that is granted the lock once the leader has closed the
 * client's session. Every step may be taken early, late or never. So a message in flight, a paused follower and a cut link
 * need no steps of their own: the next step is just not taken. Only the leader depends on time, in two ways (`Clock`,
 * `Pauses`): while it runs, it sends a ping within LATE after the ping is due; and it runs for LATE between two pauses.
 * LATE is the unit of time here. A pause may begin at any moment and last for any time.
 *
 *     client --> touch table --> to_leader  --> handler: touches, answers      pings, expiry: threads of the leader
 *            <-- one thread  <-- to_learner <-- answers and pings, in one queue
 *
 * There is no channel between client and follower. A heartbeat (a "beat") that is delayed on its way to the follower is
 * worth less than a beat that is sent later. A delayed answer only makes the rule wait longer.
 *
 * The rule is that of src/core/lease.c. A beat k extends the lease to T after its sending, once four later beats h, i, i2
 * and j were sent and answered. Each of these must be sent a certain time after the answer to the beat before. If the lease
 * has ended before, it stays ended. The model follows any one k, from a lease and a session that end at the same time. This
 * covers the next k too, because the proof uses only that the lease ends no later than the session.
 *
 * spec/model/run checks that the rule holds, and that the model finds a violation in each of these weaker rules:
 *   OLD            the rule of version 0.1: one later beat, sent T/8 after the answer to k
 *   NO_H, NO_I2, NO_J  the rule without that beat     SHORT  the rule without the leader's P
 *   AFTER          an answer counts also when the lease has ended
 * It also checks that each assumption about the servers is needed:
 *   BLINK          the leader may run for less than LATE between two pauses
 *   LAZY           its ping thread need not have its turn within LATE
 *   LOST           the follower may lose a touch: it answers a ping between two instructions of the touch
 */
#ifndef T
#define T 8      /* the session's timeout: two ticks */
#endif
#ifndef P
#define P 2      /* from one ping to the next: half a tick */
#endif
#ifndef FLYING
#define FLYING 2 /* beats under way at most */
#endif
#define LATE 1
#define QUEUE (FLYING + T / P + 2) /* a lease has no more pings than this */

#ifdef SHORT
#define WAIT_I (2 * LATE)
#else
#define WAIT_I (P + 2 * LATE)
#endif

/* The leader. A touch gives the session T more: rounding up to a tick only adds to that. */
mtype = { OPEN, TAKEN, CLOSED };
mtype session = OPEN;
byte left = T, ping_in = P;
bool running = true, woken, noted = true;

/* A reply is one that names the session. */
mtype = { BEAT, ANSWER, PING, REPLY };
chan to_leader = [QUEUE] of { mtype };
chan to_learner = [QUEUE] of { mtype };

/* The follower: its table names the session; it is about to send a reply that does. */
bool table, reply;

/* The client. `next` is the beat that the rule needs next: `wait` until it may be sent, then `out`, with `ahead` others to
   be answered before it. All other beats only touch the session. */
mtype = { K, H, I, I2, J, DONE };
mtype next = K;
byte lease = T, flying, wait, ahead, age_k;
bool out;

#ifdef AFTER
#define ALIVE true
#else
#define ALIVE (lease > 0) /* if not, the client takes its session for over */
#endif

/* The one that the rule needed was answered: what does it need after that? */
inline answered() {
  out = false;
  if
#ifdef OLD
  :: next == K -> next = J; wait = T / 8
#elif defined(NO_H)
  :: next == K -> next = I; wait = WAIT_I
#else
  :: next == K -> next = H; wait = LATE
#endif
  :: next == H -> next = I; wait = WAIT_I
#ifdef NO_I2
  :: next == I -> next = J
#else
  :: next == I -> next = I2; wait = LATE
#endif
#ifdef NO_J
  :: next == I2 -> next = DONE
#else
  :: next == I2 -> next = J
#endif
  :: next == J -> next = DONE
  fi;
  if
  :: next == DONE && lease < T - age_k -> lease = T - age_k
  :: else
  fi;
  if
  :: next == DONE -> age_k = 0
  :: else
  fi
}

#define MAY_SEND (ALIVE && next != DONE && flying < FLYING && nfull(to_leader))
#define NEEDED (!out && wait == 0 && next != DONE)

inline send() { flying++; to_leader!BEAT }

active proctype Client() {
end:
  do
  :: d_step { MAY_SEND -> send(); table = true }
  :: d_step { MAY_SEND && NEEDED -> ahead = flying; out = true; send(); table = true }
#ifdef LOST
  :: d_step { MAY_SEND && NEEDED -> ahead = flying; out = true; send() }
#endif
  od
}

/* The follower's thread that takes what the leader sends, in order: its reply is on the way before it reads on. The threads
   that serve clients may get in between the look at the table and the reply. */
active proctype Learner() {
end:
  do
  :: d_step { !reply && to_learner?[PING] -> to_learner?PING; reply = table; table = false }
  :: d_step { reply && nfull(to_leader) -> to_leader!REPLY; reply = false }
  :: d_step { ALIVE && !reply && to_learner?[ANSWER] && (!out || ahead > 0) -> to_learner?ANSWER; flying--;
              ahead = (out -> ahead - 1 : 0) }
  :: d_step { ALIVE && !reply && to_learner?[ANSWER] && out && ahead == 0 -> to_learner?ANSWER; flying--; answered() }
  od
}

/* The leader's thread for this follower takes what it sends, in order. */
active proctype Handler() {
end:
  do
  :: d_step { running && to_leader?[REPLY] -> to_leader?REPLY; left = T }
  :: d_step { running && to_leader?[BEAT] && nfull(to_learner) -> to_leader?BEAT; to_learner!ANSWER }
  od
}

/* It pings, then notes the time from which it waits for P. */
active proctype Pings() {
end:
  do
  :: d_step { running && noted && ping_in == 0 && nfull(to_learner) -> to_learner!PING; noted = false }
  :: d_step { running && !noted -> noted = true; ping_in = P }
  od
}

/* The session leaves the queue, then it is closed: a touch in between seems to succeed. Then the rival is granted. */
active proctype Expiry() {
end:
  do
  :: d_step { running && session == OPEN && left == 0 -> session = TAKEN }
  :: d_step { running && session == TAKEN -> session = CLOSED }
  :: d_step { session == CLOSED -> assert(lease == 0) }
  od
}

active proctype Pauses() {
end:
  do
#ifdef BLINK
  :: d_step { running -> running = false; woken = false }
#else
  :: d_step { running && !woken -> running = false }
#endif
  :: d_step { !running -> running = true; woken = true }
  od
}

#ifdef LAZY
#define IN_TIME true
#else
#define IN_TIME (!running || noted && ping_in > 0)
#endif
#define LESS(x) x = (x > 0 -> x - 1 : 0)

active proctype Clock() {
end:
  do
  :: d_step {
       ALIVE && IN_TIME ->
       LESS(ping_in); LESS(left); LESS(lease); LESS(wait);
       age_k = (next == DONE || next == K && !out -> 0 : (age_k < T -> age_k + 1 : T));
       woken = false
     }
  od
}
