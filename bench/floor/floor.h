/*
 * The floor: a minimal program that does the same work with the same client library. It keeps no
 * lease, survives no broken connection, cancels nothing and verifies nothing. Any failure ends it.
 *
 * main.c       the scenarios
 * contender.c  a contender: its requests and its turn
 * queue.c      items that are put, taken, claimed
 * client.c     sessions and the loop; clocks
 * relay.c      with --two-threads: a second thread that says when a contender's turn is over
 *
 * One thread runs everything; the second thread only gets messages from it.
 */
#ifndef FLOOR_H
#define FLOOR_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdbool.h>
#include <zookeeper/zookeeper.h>

#define MOST 10001 /* contenders */
#define NAME_SIZE 256

struct contender {
    zhandle_t *zh;
    char dir[NAME_SIZE];
    char seat[NAME_SIZE];
    int left;        /* turns */
    double heard_at; /* when it learned that it has the lock */
};

/* ---- client.c -------------------------------------------------------------------------------- */

extern int session_ms;
extern int
    outstanding; /* requests without an answer, and contenders that are with the second thread */

/* Seconds: of a monotonic clock, and of CPU time of the whole process. */
double now(void);
double cpu(void);

/* Ends the program unless rc is ZOK. */
void must(int rc);

/* gives: a connected session. */
zhandle_t *open_session(const char *hosts);
void close_sessions(void);

/* Creates the node unless it exists; returns when the server has answered. */
void make_node(zhandle_t *zh, const char *path);

/* Waits until something happens, at most a tenth of a second, and handles it. */
void turn(void);

/* Runs turns until the count is reached, or until everything is answered. */
void until(const int *count, int wanted);
void settle(void);

/* ---- contender.c ----------------------------------------------------------------------------- */

extern struct contender contenders[MOST];
extern int parked;        /* watch the one ahead of them */
extern int granted;       /* how many grants there were */
extern double granted_at; /* the last one */
extern bool keep;         /* a contender that is granted does not leave */

/* Queues for `turns` turns, one after the other. keeps one; borrows dir. */
void enter(struct contender *one, zhandle_t *zh, const char *dir, int turns);
void leave(struct contender *one);

/* The contender has learned at heard_at that it has the lock: counts it, and leaves unless
   `keep`. */
void take_turn(struct contender *one);

/* ---- queue.c --------------------------------------------------------------------------------- */

/* Runs `put`, `put_all`, `take` or `claim` by `count` at once, with so many items in the queue;
   gives: false if it is none of these. */
bool queue_run(zhandle_t *zh, const char *path, const char *scenario, int operations, int items,
               int count);

/* ---- relay.c --------------------------------------------------------------------------------- */

/* Readable when the second thread has decided something; -1 if there is no such thread. */
extern int relay_fd;

void relay_start(void);

/* Passes it to the second thread, which notes the time and passes it back. keeps: one. */
void relay_tell(struct contender *one);

/* Takes the turns of all contenders that came back. */
void relay_take(void);

#endif
