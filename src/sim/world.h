#ifndef ZR_SIM_WORLD_H
#define ZR_SIM_WORLD_H

/* world.h: the whole state of a world, for the files of the simulator only. */

#include <stdarg.h>

#include "sim/random.h"
#include "sim/process.h"
#include "sim/server.h"
#include "sim/session.h"
#include "sim/sim.h"

/* How much later than the leader's decision a create is committed. */
#define ZR_SIM_COMMIT_US 300

struct zr_sim_world {
    int refs; /* the driver, and every process */
    struct zr_sim_options options;
    struct zr_sim_random random, dice; /* for normal events, for faults */
    struct zr_sim_agenda agenda;
    int64_t now_us;
    int64_t zxid;
    size_t server_count;
    struct zr_sim_server *servers;
    struct zr_list log;      /* struct zr_sim_txn: not yet applied everywhere */
    struct zr_list sessions; /* struct zr_sim_session */
    size_t session_count;
    int64_t last_session;
    int32_t most_timeout_ms; /* the longest timeout that handshakes are granted; 0: only the tick
                                limits it */
    uint64_t last_conn;
    struct zr_list processes; /* struct zr_sim_process */
    struct zr_sim_event tick, doom, ping, look;
    size_t ping_next; /* the server that gets the next ping; server_count: the round is over */
    int64_t reap_us;  /* next look at the containers */
    struct zr_sim_faults faults;
    int64_t requests[ZR_SIM_OPS], met[ZR_SIM_FAULTS], breaks;
    void (*saw)(void *with, int64_t zxid);
    void *with;
};

/* Chooses the latency of the next message. */
int64_t zr_sim_latency_us(struct zr_sim_world *world);

/* The servers' clock. */
int64_t zr_sim_wall_ms(const struct zr_sim_world *world);

/* A line of the trace, if there is one. */
void zr_sim_trace(const struct zr_sim_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
