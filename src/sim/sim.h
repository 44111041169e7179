#ifndef ZR_SIM_SIM_H
#define ZR_SIM_SIM_H

/*
 * sim.h: a simulated ZooKeeper ensemble with clients, in one process and under one virtual clock.
 * Nothing happens in it until a call moves the clock: zk->wait, zr_sim_step, _run or _advance. The
 * same seed and the same calls give the same history, to the microsecond.
 *
 * Each struct zr_zk stands for a client process of its own. A driver with one process calls
 * zk->wait like any host. A driver with several calls zr_sim_run, lets the ready processes
 * dispatch, and repeats that.
 *
 * Thread: one. Times in microseconds on the clock of zk->now_us, which all processes share.
 */

#include <stdio.h>

#include "core/zk.h"

struct zr_sim_world;

/* ---- The world ----------------------------------------------------------------------------- */

/* 0 in a field means its default. */
struct zr_sim_options {
    uint64_t seed;
    int servers;      /* the first is the leader (3) */
    int32_t tick_ms;  /* a timeout is granted from 2 to 20 ticks (2000) ... */
    int32_t least_ms; /* ... or from this time to 20 ticks (two ticks) */
    int32_t reap_ms;  /* time between two removals of empty containers and old TTL znodes (60000) */
    int64_t latency_us; /* of a message, at least ... (200) */
    int64_t jitter_us;  /* ... and up to this much more; negative: none (400) */
    int64_t late_us;    /* a server's thread gets its turn up to this late (as jitter_us) */
    FILE *trace;        /* a line for everything that happens; null: none */
    bool leader_only;   /* the trace has only the lines that begin with "leader:" */
};

/* gives: a world. It lives until it and its last client are freed. */
struct zr_sim_world *zr_sim_world_new(const struct zr_sim_options *options);

/* Writes the trace to this file from now on; null: writes no trace. */
void zr_sim_trace_to(struct zr_sim_world *world, FILE *to);

/* From now on the trace has only the lines that begin with "leader:". */
void zr_sim_trace_leader_only(struct zr_sim_world *world);

/* takes: world. Its clients may outlive this call. */
void zr_sim_world_free(struct zr_sim_world *world);

/* gives: a new client process, freed with zk->free. */
struct zr_zk *zr_sim_zk(struct zr_sim_world *world);

/* ---- Time ---------------------------------------------------------------------------------- */

int64_t zr_sim_now_us(const struct zr_sim_world *world);

/* Runs the next event. A world ticks forever, so there always is one. */
void zr_sim_step(struct zr_sim_world *world);

/* Runs all events within this time. */
void zr_sim_advance(struct zr_sim_world *world, int64_t us);

/* Runs events until a process is ready, or until until_us. True: one is ready. */
bool zr_sim_run(struct zr_sim_world *world, int64_t until_us);

/* True if the process has something to take and is not paused. */
bool zr_sim_ready(const struct zr_zk *zk);
bool zr_sim_paused(const struct zr_zk *zk);

/* How long it stays paused; 0: it is not paused. */
int64_t zr_sim_paused_us(const struct zr_zk *zk);

/* ---- Faults of one client process ---------------------------------------------------------- */

/* Breaks all connections (session 0), or that of one session. arrives: packets on their way to the
   server still arrive; otherwise they are lost. */
void zr_sim_cut(struct zr_zk *zk, int64_t session, bool arrives);

/* Breaks all connections; no new one can be made until the link is up again. */
void zr_sim_link(struct zr_zk *zk, bool up);

/* Holds the messages in these directions, until a later call lets them through. */
enum { ZR_SIM_TO_SERVER = 1, ZR_SIM_TO_CLIENT = 2 };
void zr_sim_partition(struct zr_zk *zk, unsigned held);

/* Stops the process for this long: it takes and sends nothing, while the clock moves on. */
void zr_sim_pause(struct zr_zk *zk, int64_t us);

/* Its next connection goes to this server, which may lag behind. */
void zr_sim_prefer(struct zr_zk *zk, int server);

enum zr_sim_fault {
    ZR_SIM_LOSE_REQUEST, /* it is not done, and the connection breaks */
    ZR_SIM_LOSE_REPLY,   /* it is done, and the connection breaks */
    ZR_SIM_LATE_REQUEST, /* the connection breaks, and the request arrives `us` later; it is done
                            unless the session has a new connection by then */
    ZR_SIM_DELAY,        /* it and all packets behind it arrive `us` late */
    ZR_SIM_CUT,          /* the connection breaks `us` after it was sent, wherever it is then */
    ZR_SIM_EXPIRE,       /* the session is expired when it is sent */
    ZR_SIM_PAUSE,        /* the process stops for `us` after sending it */
    ZR_SIM_RENAME, /* as ZR_SIM_CUT, and the reconnect is answered with another session; the old
                      session expires after its timeout without a sign of life */
    ZR_SIM_FAULTS  /* how many there are */
};

#define ZR_SIM_ANY_OP (-1)

/*
 * The nth request (1 is the next) of this kind that the process sends meets this fault. op is an
 * enum zr_op or ZR_SIM_ANY_OP; session 0 means any. Each plan counts for itself.
 */
struct zr_sim_plan {
    int op;
    int nth;
    enum zr_sim_fault fault;
    int64_t us;
    int64_t session;
    int64_t down_us; /* for how long no connection can be made after the fault broke one; negative:
                        until a late request has certainly arrived */
};
void zr_sim_plan(struct zr_zk *zk, const struct zr_sim_plan *plan);

/* How many plans have not been applied yet. */
size_t zr_sim_plans_left(const struct zr_zk *zk);

/* ---- Faults of the servers ----------------------------------------------------------------- */

/* The leader ends the session now; its client learns it later. False: there is none. */
bool zr_sim_expire(struct zr_sim_world *world, int64_t session);

/* The session's next reconnect is answered with another session. False: there is no such
   session. */
bool zr_sim_rename(struct zr_sim_world *world, int64_t session);

/* From now on every handshake is granted at most this timeout, also for a session that has a longer
   timeout; 0: only the tick limits it. */
void zr_sim_grant(struct zr_sim_world *world, int32_t timeout_ms);

/* From now on the server applies transactions this much later than the leader. server: not 0, the
   leader. */
void zr_sim_lag(struct zr_sim_world *world, int server, int64_t us);

/* on: the server hears nothing from the leader. It answers reads for five ticks, then drops its
   clients. */
void zr_sim_isolate(struct zr_sim_world *world, int server, bool on);

/* As zr_sim_isolate, on; but packets on their way between the server and the leader still
   arrive. */
void zr_sim_sever(struct zr_sim_world *world, int server);

/* Stops the server (0: the leader) for this long: it takes and sends nothing, while the clock moves
   on. Then its threads run again, in any order, each up to late_us late. No other leader is
   elected. */
void zr_sim_pause_server(struct zr_sim_world *world, int server, int64_t us);

/* Holds for this long what this server sends to the leader (ZR_SIM_TO_SERVER), or the leader to it
   (ZR_SIM_TO_CLIENT). */
void zr_sim_hold_server(struct zr_sim_world *world, int server, unsigned held, int64_t us);

/* Stops the server, or starts it again. If the leader is down, all are: no other leader is
   elected. */
void zr_sim_stop(struct zr_sim_world *world, int server, bool on);

/* The next sequential child of this znode gets this number. False: there is no such znode. */
bool zr_sim_set_counter(struct zr_sim_world *world, const char *path, int32_t counter);

/* touch writes to the znode the data that it has, remove deletes it; no client of the world does
   it. False: the znode does not exist or has children, or the leader is down. */
bool zr_sim_touch(struct zr_sim_world *world, const char *path);
bool zr_sim_remove(struct zr_sim_world *world, const char *path);

/* ---- Faults at random ---------------------------------------------------------------------- */

/* How many of a million requests meet each fault; each request meets at most one. Times are upper
   bounds. */
struct zr_sim_faults {
    uint32_t lose_request, lose_reply, late_request, delay, cut, expire, pause, rename;
    uint32_t lag;     /* how many of a million requests change the lag of a server */
    int64_t delay_us; /* delay, late_request, cut, rename */
    int64_t down_us;  /* after a connection broke, no new one can be made for this long */
    int64_t pause_us;
    int64_t lag_us;
};

/* Sets the faults from now on. Null: none; links go up and lags become 0; pauses and plans
   remain. */
void zr_sim_set_faults(struct zr_sim_world *world, const struct zr_sim_faults *faults);

/* ---- Inspecting ---------------------------------------------------------------------------- */

/* Requests sent since the beginning, by one process or by all. Heartbeats and the packets of a
   reconnect do not count. op may be ZR_SIM_ANY_OP. */
int64_t zr_sim_requests(const struct zr_zk *zk, int op);
int64_t zr_sim_all_requests(const struct zr_sim_world *world, int op);

/* How often a request met this fault, and how often a client lost its connection. */
int64_t zr_sim_fault_count(const struct zr_sim_world *world, enum zr_sim_fault fault);
int64_t zr_sim_break_count(const struct zr_sim_world *world);

/* Watches on all servers. */
size_t zr_sim_watch_count(const struct zr_sim_world *world);

/* Sessions that the leader has not ended. */
size_t zr_sim_session_count(const struct zr_sim_world *world);
bool zr_sim_session_alive(const struct zr_sim_world *world, int64_t session);

int64_t zr_sim_zxid(const struct zr_sim_world *world);

/* A znode as the leader sees it, or false. */
bool zr_sim_stat(const struct zr_sim_world *world, const char *path, struct zr_stat *stat);

/* How many znodes there are below this one (without /zookeeper); also 0 if it does not exist. */
size_t zr_sim_count(const struct zr_sim_world *world, const char *path);

struct zr_sim_view {
    const char *path;
    struct zr_bytes data;
    struct zr_stat stat;
};

/* How many znodes the leader has created or deleted. While this number stays the same, the same
   znodes exist, and the path of a view stays valid. */
int64_t zr_sim_changes(const struct zr_sim_world *world);

/* One znode, or false. */
bool zr_sim_look(const struct zr_sim_world *world, const char *path, struct zr_sim_view *view);

/* Visits a znode and all below it (without /zookeeper), parents first, as the leader sees them. */
void zr_sim_walk(const struct zr_sim_world *world, const char *path,
                 void (*visit)(void *with, const struct zr_sim_view *view), void *with);

/* Prints a line for each znode that zr_sim_walk visits. */
void zr_sim_dump(const struct zr_sim_world *world, const char *path, FILE *to);

/* Calls `saw` after each transaction of the leader; null: ends that. */
void zr_sim_observe(struct zr_sim_world *world, void (*saw)(void *with, int64_t zxid), void *with);

#endif
