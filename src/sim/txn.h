#ifndef ZR_SIM_TXN_H
#define ZR_SIM_TXN_H

/*
 * txn.h: the leader's decisions, in order. Every server applies each of them to its tree, sooner or
 * later. A transaction without changes only takes a place in the order: an error, a sync, the
 * beginning of a session.
 */

#include "sim/tree.h"
#include "sim/watch.h"

struct zr_sim_packet;

enum zr_sim_act { ZR_SIM_CREATE, ZR_SIM_DELETE, ZR_SIM_SET, ZR_SIM_SET_ACL };

struct zr_sim_change {
    enum zr_sim_act act;
    char *path;
    struct zr_bytes data;
    struct zr_sim_acl *acl; /* counted */
    int64_t owner;
    int32_t number;      /* create: the parent's new cversion; set, set_acl: the new version */
    struct zr_stat stat; /* of the znode after the change, once a server has applied it */
};

struct zr_sim_txn {
    struct zr_link link; /* in the world's log */
    size_t waiting;      /* servers that have not applied it */
    int64_t zxid, time_ms, at_us;
    int64_t ended;                /* the session that it ends, or 0 */
    int ping;                     /* the server that the leader pings with it, or 0 */
    struct zr_sim_packet *packet; /* the request for it, counted; or null */
    size_t count, room;
    struct zr_sim_change *changes;
};

/* gives: a transaction without changes. keeps: a reference of packet, which may be null. */
struct zr_sim_txn *zr_sim_txn_new(struct zr_sim_packet *packet);
void zr_sim_txn_free(struct zr_sim_txn *txn);

/* Adds a change and returns it, until the next one is added. borrows: path, of this length. */
struct zr_sim_change *zr_sim_txn_add(struct zr_sim_txn *txn, enum zr_sim_act act, const char *path,
                                     size_t length);

/* Forgets all changes: a part of a multi was refused. */
void zr_sim_txn_clear(struct zr_sim_txn *txn);

/* Applies the transaction to a server's tree; the watches fire. */
void zr_sim_txn_apply(struct zr_sim_txn *txn, struct zr_sim_tree *tree,
                      struct zr_sim_watches *watches);

#endif
