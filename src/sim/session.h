#ifndef ZR_SIM_SESSION_H
#define ZR_SIM_SESSION_H

/* session.h: the sessions, as the leader knows them. */

#include "sim/server.h"

struct zr_sim_session {
    struct zr_link link; /* in the world's sessions */
    int64_t id;
    int32_t timeout_ms;
    int64_t expire_us;  /* when it ends if no message comes */
    uint64_t conn;      /* number of the connection that may write */
    bool renamed;       /* a fault: the next reconnect gets another session */
    bool doomed;        /* was silent for too long; a message can no longer save it */
    int32_t heard_ms[]; /* of each server: the timeout that it granted, if it has heard from
                           the session and not told the leader; otherwise 0 */
};

/* The session, or null when it is over or never was. */
struct zr_sim_session *zr_sim_session_find(struct zr_sim_world *world, int64_t id);

/* gives: a new session, with a timeout as near to the one asked for as the servers allow. */
struct zr_sim_session *zr_sim_session_begin(struct zr_sim_world *world, int32_t timeout_ms);

/* A handshake: the timeout becomes as near to the one asked for as the servers allow by now. */
void zr_sim_session_grant(const struct zr_sim_world *world, struct zr_sim_session *session,
                          int32_t asked_ms);

/* A server has heard from the session: the leader itself, or one that will tell the leader. */
void zr_sim_session_touch(struct zr_sim_world *world, struct zr_sim_session *session);
void zr_sim_session_heard(struct zr_sim_server *server, int64_t id, int32_t timeout_ms);

/* gives: a server's reply to a ping, with the sessions it has heard from. The leader takes it;
   borrows: packet. */
struct zr_sim_packet *zr_sim_sessions_pong(struct zr_sim_server *server);
void zr_sim_sessions_told(struct zr_sim_world *world, const struct zr_sim_packet *packet);

/* The server forgets which sessions it has heard from. */
void zr_sim_sessions_forget(struct zr_sim_server *server);

/* Dooms the sessions that were silent for too long. True: there are any; end them next. */
bool zr_sim_sessions_doom(struct zr_sim_world *world);
void zr_sim_sessions_end_doomed(struct zr_sim_world *world);

/* The session is over: its ephemerals are deleted, in one transaction. packet: the client's request
   for it, or null. */
void zr_sim_session_end(struct zr_sim_world *world, struct zr_sim_session *session,
                        struct zr_sim_packet *packet);

/* The leader's threads: see ticks.c. */
void zr_sim_tick_start(struct zr_sim_world *world);

/* Ends the leader's pause early: what was put off until its end happens at once. */
void zr_sim_tick_go_on(struct zr_sim_world *world);

void zr_sim_sessions_fini(struct zr_sim_world *world);

#endif
