#ifndef ZR_SIM_SERVER_H
#define ZR_SIM_SERVER_H

/* server.h: one server of the ensemble, and what it knows of its connections. */

#include "sim/agenda.h"
#include "sim/packet.h"
#include "sim/tree.h"
#include "sim/txn.h"
#include "sim/watch.h"
#include "sim/wire.h"

struct zr_sim_world;

struct zr_sim_server {
    struct zr_sim_world *world;
    int number; /* 0: the leader */
    struct zr_sim_tree tree;
    struct zr_sim_watches watches;
    int64_t zxid;            /* the last one applied */
    struct zr_sim_txn *next; /* the next one to apply, or null */
    struct zr_sim_event apply;
    int64_t hop_us, lag_us; /* latency from the leader; a delay that a fault adds */
    struct zr_list conns;   /* struct zr_sim_conn, in the order in which they came */
    struct zr_sim_wire to_leader;
    bool stopped, isolated;
    bool delivers;       /* isolated: messages that were on their way still arrive */
    int64_t isolated_us; /* since */
    int64_t paused_until_us;
    int64_t up_held_us, down_held_us; /* until then nothing arrives at, or from, the leader */
    int64_t late_us;                  /* how long after a pause it reads from the leader again */
    struct zr_sim_event resume;
    size_t heard_count;   /* sessions that the leader has not been told of */
    int64_t pings, pongs; /* that the leader sent it, and its replies */
};

/*
 * A connection, seen from both ends. Either end may let go of it first; it is freed after its last
 * reference is gone.
 */
struct zr_sim_conn {
    int refs;
    struct zr_sim_world *world;
    struct zr_link link; /* in the server's conns, while the server keeps it */
    struct zr_sim_server *server;
    struct zr_sim_process *process;
    struct zr_handle *handle; /* null: the client has let go */
    bool open;                /* the server keeps it */
    int64_t session_id;       /* once the handshake is done */
    int32_t timeout_ms;       /* ... and what it granted */
    uint64_t number;          /* never used twice */
    struct zr_sim_identity *who;
    struct zr_list pending; /* struct zr_sim_packet, by in_pending */
    struct zr_list watches; /* struct watch */
    uint64_t told;          /* the number of the last firing that concerned it */
    struct zr_sim_wire up, down;
};

void zr_sim_server_init(struct zr_sim_server *server, struct zr_sim_world *world, int number);
void zr_sim_server_fini(struct zr_sim_server *server);

/* gives: a connection, with a reference of the client's. */
struct zr_sim_conn *zr_sim_conn_new(struct zr_sim_server *server, struct zr_handle *handle);
struct zr_sim_conn *zr_sim_conn_ref(struct zr_sim_conn *conn);
void zr_sim_conn_unref(struct zr_sim_conn *conn);

/* The client lets go of it; packets that it has sent still arrive, or are lost. takes: the client's
   reference. */
void zr_sim_conn_let_go(struct zr_sim_conn *conn, bool arrives);

/* A packet has arrived at the server. takes: packet. */
void zr_sim_conn_receive(struct zr_sim_conn *conn, struct zr_sim_packet *packet);

/* The server answers the packets that it can answer by now, in their order. */
void zr_sim_conn_pump(struct zr_sim_conn *conn);

/* A watch fired: sends the event to the client. borrows: path. */
void zr_sim_conn_tell(struct zr_sim_conn *conn, enum zr_event_kind event, const char *path);

/* The server hangs up; what it has already sent still arrives. */
void zr_sim_conn_hang_up(struct zr_sim_conn *conn);

/* The leader has decided the next transaction. The leader applies it now, other servers later. */
void zr_sim_server_expect(struct zr_sim_server *server, struct zr_sim_txn *txn);

/* Hangs up on the connections of a session. */
void zr_sim_server_drop(struct zr_sim_server *server, int64_t id);

/* Applies the transactions that have come by now. */
void zr_sim_server_catch_up(struct zr_sim_server *server);

/* False: it takes no connection, because it is down or has been without the leader for too long. */
bool zr_sim_server_serves(const struct zr_sim_server *server);

/* Call it every half tick. */
void zr_sim_server_tick(struct zr_sim_server *server);

/* True: the server is paused, and the event is put off until it runs again. */
bool zr_sim_server_put_off(struct zr_sim_server *server, struct zr_sim_event *event);

/* on: stops the server, or cuts it off from the leader; off: ends that. */
void zr_sim_server_stop(struct zr_sim_server *server, bool on);
void zr_sim_server_isolate(struct zr_sim_server *server, bool on, bool delivers);

/* The server does nothing for this long; then its threads run again, in any order. */
void zr_sim_server_pause(struct zr_sim_server *server, int64_t us);

/* ---- answer.c ------------------------------------------------------------------------------ */

/* Fills in the answer to a read, from the server's own tree, and leaves the watch. */
void zr_sim_answer(struct zr_sim_server *server, struct zr_sim_packet *packet);

/* The client's watches, after a reconnect: reports the changes it missed, and leaves the other
   watches. */
void zr_sim_answer_watches(struct zr_sim_server *server, struct zr_sim_packet *packet);

#endif
