#ifndef ZR_SIM_SESSION_H
#define ZR_SIM_SESSION_H

/* session.h: the sessions, as the leader keeps them. */

#include "sim/server.h"

struct zr_sim_session {
    struct zr_link link; /* in the world's sessions */
    int64_t id;
    int32_t timeout_ms;
    int64_t expire_us;  /* when it is over if nothing is heard */
    uint64_t conn;      /* number of the connection that may write */
    bool renamed;       /* a fault: the next reconnect gets another session */
    bool doomed;        /* found silent; no touch saves it any more */
    int32_t heard_ms[]; /* per server that has heard of it and has not told the leader:
                           what that server granted; else 0 */
};

/* The session, or null when it is over or never was. */
struct zr_sim_session *zr_sim_session_find(struct zr_sim_world *world, int64_t id);

/* gives: a new session, which lasts as near to what was asked for as the servers allow. */
struct zr_sim_session *zr_sim_session_begin(struct zr_sim_world *world, int32_t timeout_ms);

/* A handshake: the session lasts as near to what was asked for as the servers allow by now. */
void zr_sim_session_grant(const struct zr_sim_world *world, struct zr_sim_session *session,
                          int32_t asked_ms);

/* Heard from: the leader itself, or a server that will tell the leader. */
void zr_sim_session_touch(struct zr_sim_world *world, struct zr_sim_session *session);
void zr_sim_session_heard(struct zr_sim_server *server, int64_t id, int32_t timeout_ms);

/* gives: the reply of a server to a ping: whom it has heard. The leader takes it; borrows: packet.
 */
struct zr_sim_packet *zr_sim_sessions_pong(struct zr_sim_server *server);
void zr_sim_sessions_told(struct zr_sim_world *world, const struct zr_sim_packet *packet);

/* The server has forgotten whom it heard. */
void zr_sim_sessions_forget(struct zr_sim_server *server);

/* Those that were silent for too long are doomed; true: there are any. Then they end. */
bool zr_sim_sessions_doom(struct zr_sim_world *world);
void zr_sim_sessions_end_doomed(struct zr_sim_world *world);

/* It is over: its ephemerals go, in one transaction. packet: the client asked for it, or null. */
void zr_sim_session_end(struct zr_sim_world *world, struct zr_sim_session *session,
                        struct zr_sim_packet *packet);

/* The leader's threads: see ticks.c. */
void zr_sim_tick_start(struct zr_sim_world *world);

void zr_sim_sessions_fini(struct zr_sim_world *world);

#endif
