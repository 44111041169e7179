#ifndef ZR_SIM_PROCESS_H
#define ZR_SIM_PROCESS_H

/* process.h: a client process with its handles. It stands for src/zk and the client library. */

#include "core/handshake.h"
#include "core/lease.h"
#include "sim/server.h"
#include "sim/sim.h"

#define ZR_SIM_OPS (ZR_OP_CHECK + 1)

struct zr_sim_process {
    struct zr_zk table; /* first member */
    int refs;           /* of its user, and of its connections */
    struct zr_sim_world *world;
    struct zr_link link;    /* in the world's processes */
    struct zr_list inbox;   /* struct zr_message */
    struct zr_list handles; /* struct zr_handle */
    bool woken;
    bool unlinked;         /* zr_sim_link: no connection can be made */
    unsigned held;         /* directions in which nothing gets through */
    int64_t down_until_us; /* until then no connection can be made */
    int64_t paused_until_us;
    struct zr_sim_event resume;
    int preferred;        /* a server, or -1 */
    struct zr_list plans; /* struct zr_sim_planned */
    int64_t requests[ZR_SIM_OPS];
};

enum zr_sim_phase {
    ZR_SIM_APART,      /* no connection; the alarm is the next attempt */
    ZR_SIM_CONNECTING, /* the handshake is under way */
    ZR_SIM_UP,         /* the server has answered it; a first request is under way */
    ZR_SIM_PROVED,     /* the first request was answered */
    ZR_SIM_OVER,       /* expired, or credentials refused */
};

struct zr_sim_credential {
    struct zr_sim_credential *next;
    const char *scheme;
    struct zr_bytes bytes;
};

struct zr_handle {
    struct zr_link link; /* in the process */
    struct zr_sim_process *process;
    void *owner;
    enum zr_sim_phase phase;
    struct zr_sim_conn *conn; /* null in the phases APART and OVER */
    int32_t timeout_ms;       /* asked for, then negotiated */
    bool write_heartbeat;
    struct zr_sim_credential *credentials;
    int64_t session_id, last_zxid;
    int server;       /* the server that was tried last */
    size_t tries;     /* attempts that have failed since the last success */
    int64_t began_us; /* when the present attempt began */
    int64_t heard_us; /* when the server last sent anything */
    struct zr_handshake handshake;
    struct zr_list in_flight;    /* struct zr_request, by message.link */
    struct zr_sim_index watched; /* the watches, as the library knows them */
    struct zr_sim_event alarm, beat, cut, retry;

    struct zr_lease lease;

    bool connected; /* the host was told that the handle is connected */
    bool known;     /* the host was told of this session */
    bool owed;      /* CONNECTED is still to be reported: there was no memory */
    bool missed;    /* an event could not be reported: there was no memory */
    struct zr_notice *suspended, *final,
        *ended;                  /* allocated in advance, so that reporting them cannot fail */
    struct zr_notice *any_event; /* ... or null: there was no memory */

    bool closed, parting; /* parting: the request to end the session was sent */
    int64_t close_by_us;
    struct zr_sim_event end;
};

static inline struct zr_sim_process *zr_sim_process_of(const struct zr_zk *zk)
{
    return (struct zr_sim_process *)zk;
}

/* The timeout that was asked for, and later the negotiated one. */
static inline int64_t zr_sim_timeout_us(const struct zr_handle *handle)
{
    return (int64_t)handle->timeout_ms * 1000;
}

struct zr_sim_process *zr_sim_process_ref(struct zr_sim_process *process);
void zr_sim_process_unref(struct zr_sim_process *process);

/* True: the process is stopped, and the event is put off until it runs again. */
bool zr_sim_put_off(const struct zr_handle *handle, struct zr_sim_event *event);

/* ---- handle.c ------------------------------------------------------------------------------ */

/* gives: a handle that begins to connect, or null when there is no memory. borrows: config. */
struct zr_handle *zr_sim_handle_new(struct zr_sim_process *process,
                                    const struct zr_zk_config *config, void *owner);

/* takes: handle. Forgets the requests in flight. */
void zr_sim_handle_free(struct zr_handle *handle);

/* See zr_zk.submit and .close. */
void zr_sim_handle_submit(struct zr_handle *handle, struct zr_request *request);
void zr_sim_handle_close(struct zr_handle *handle, int64_t linger_us);

/* Remembers a copy of the credential. False: no memory. */
bool zr_sim_handle_remember(struct zr_handle *handle, const char *scheme, struct zr_bytes bytes);

/* ---- connect.c ----------------------------------------------------------------------------- */

/* Tries the next server after a short pause. */
void zr_sim_handle_try(struct zr_handle *handle);

/* Sends the packet; the handle must have a connection. takes: packet. */
void zr_sim_handle_send(struct zr_handle *handle, struct zr_sim_packet *packet, int64_t delay_us);

/* The connection is lost: reports that, fails the requests in flight, and plans the next
   attempt. */
void zr_sim_handle_lost(struct zr_handle *handle, bool arrives);

/* True if the server was silent for too long. */
bool zr_sim_handle_silent(const struct zr_handle *handle);

/* The session is over, or the credentials were refused. */
void zr_sim_handle_over(struct zr_handle *handle, enum zr_message_kind kind);

/* The end of a handle: fails the requests in flight, and reports ENDED. */
void zr_sim_handle_finish(struct zr_handle *handle);

/* ---- client_protocol.c --------------------------------------------------------------------- */

/* A packet came over its connection. borrows: packet. */
void zr_sim_handle_receive(struct zr_handle *handle, struct zr_sim_packet *packet);

/* Asks the server to end the session; the answer ends the handle. */
void zr_sim_handle_part(struct zr_handle *handle);

/* ---- report.c ------------------------------------------------------------------------------ */

/* Allocates the notices in advance that report an end. False: no memory. */
bool zr_sim_report_init(struct zr_handle *handle);
void zr_sim_report_fini(struct zr_handle *handle);

int64_t zr_sim_report_proof_us(const struct zr_handle *handle); /* see zr_zk.proof_us */
void zr_sim_report_connected(struct zr_handle *handle);
void zr_sim_report_suspended(struct zr_handle *handle);
void zr_sim_report_final(struct zr_handle *handle, enum zr_message_kind kind);
void zr_sim_report_event(struct zr_handle *handle, enum zr_event_kind event, const char *path);
void zr_sim_report_ended(struct zr_handle *handle);
void zr_sim_report_reply(struct zr_handle *handle, struct zr_request *request);

/* ---- watched.c ----------------------------------------------------------------------------- */

/* Adds the watch of a request that was answered to the library's list. */
void zr_sim_watched_add(struct zr_handle *handle, const struct zr_request *answered);

/* An event came. True: the list had a watch for it, which is removed. */
bool zr_sim_watched_take(struct zr_handle *handle, enum zr_event_kind event, const char *path);

/* True if there is a watch on this path. */
bool zr_sim_watched_on(const struct zr_handle *handle, const char *path);

/* The server has removed all watches on this path. */
void zr_sim_watched_remove(struct zr_handle *handle, const char *path);

/* gives: a packet with all watches for a new connection, or null if there are none. */
struct zr_sim_packet *zr_sim_watched_packet(struct zr_handle *handle);

void zr_sim_watched_fini(struct zr_handle *handle);

/* ---- faults.c ------------------------------------------------------------------------------ */

/* A request is about to be sent: applies the faults meant for it. Returns how much later it
   arrives. */
int64_t zr_sim_faults_before(struct zr_handle *handle, struct zr_sim_packet *packet,
                             struct zr_sim_plan *met);

/* Applies the rest of these faults, after the request was sent. */
void zr_sim_faults_after(struct zr_handle *handle, const struct zr_sim_plan *met);

void zr_sim_plans_fini(struct zr_sim_process *process);

#endif
