#ifndef ZR_SIM_PACKET_H
#define ZR_SIM_PACKET_H

/*
 * packet.h: what travels between a client and its server: a request with everything it needs, or an
 * event. The packet of a request comes back as its answer. The client may have given the request up
 * long before the packet is freed.
 */

#include "core/list.h"
#include "core/zk.h"
#include "sim/acl.h"

struct zr_sim_conn;

enum zr_sim_kind {
    ZR_SIM_CONNECT, /* begin a session, or continue one */
    ZR_SIM_ASK,     /* a request */
    ZR_SIM_BEAT,    /* a heartbeat: a request of the client's own */
    ZR_SIM_WATCHES, /* the client's watches, for a new connection */
    ZR_SIM_CLOSE,   /* end the session */
    ZR_SIM_EVENT,   /* a watch fired */
    ZR_SIM_END,     /* the other side has hung up */
    ZR_SIM_PONG,    /* from server to leader: the reply to a ping */
};

/* What a fault does to the packet. */
enum zr_sim_fate { ZR_SIM_FINE, ZR_SIM_LOST, ZR_SIM_MUTE };

/* Which watches the client has on a path. */
enum { ZR_SIM_ON_DATA = 1, ZR_SIM_ON_ABSENCE = 2, ZR_SIM_ON_CHILDREN = 4 };

struct zr_sim_rewatch {
    char *path;
    unsigned on;
};

/* A session that a server has heard from, and the timeout that it granted. */
struct zr_sim_heard {
    int64_t session_id;
    int32_t timeout_ms;
};

struct zr_sim_packet {
    struct zr_link link;       /* on a wire */
    struct zr_link in_pending; /* on the server, until it is answered */
    int refs;
    enum zr_sim_kind kind;
    struct zr_sim_conn *conn; /* counted; null: a reply to a ping */
    int64_t sent_us;          /* when it was put on the wire */
    int64_t at_us;            /* it arrives at this time or later */
    size_t size;              /* about how many bytes */
    enum zr_sim_fate fate;
    bool through_leader;        /* only the leader can answer it ... */
    bool decided;               /* ... and its answer has come to the client's server */
    bool refused;               /* the session has another connection, or is over */
    int64_t zxid;               /* of the last transaction that the answering server had applied */
    struct zr_request *request; /* the client's own, valid while the client keeps the connection */
    struct zr_request copy;     /* what the server sees, and where it puts its answer */
    struct zr_sim_acl *acl;     /* get_acl: the answer, counted */
    int64_t session_id, last_zxid; /* connect */
    int32_t timeout_ms;            /* connect */
    enum zr_event_kind event;
    size_t heard_count, heard_room;
    struct zr_sim_heard *heard; /* the reply to a ping */
    size_t rewatch_count;
    struct zr_sim_rewatch *rewatches;
};

/* gives: a packet with one reference. keeps: a reference of conn, which may be null. */
struct zr_sim_packet *zr_sim_packet_new(struct zr_sim_conn *conn, enum zr_sim_kind kind);

/* gives: a packet with a copy of the request. keeps: request, while the client does. */
struct zr_sim_packet *zr_sim_packet_ask(struct zr_sim_conn *conn, struct zr_request *request);

struct zr_sim_packet *zr_sim_packet_ref(struct zr_sim_packet *packet);
void zr_sim_packet_unref(struct zr_sim_packet *packet);

/* Its single requests: the parts of a multi, or the request itself. */
struct zr_request *zr_sim_packet_parts(struct zr_sim_packet *packet, size_t *count);

/*
 * Writes the answer into the client's request, in memory that the engine frees. If memory is
 * exhausted, the status is ZR_NO_MEMORY, although the request was done.
 */
void zr_sim_packet_give(const struct zr_sim_packet *packet);

#endif
