#ifndef ZR_SIM_LEADER_H
#define ZR_SIM_LEADER_H

/* leader.h: the one place that decides the order of all changes. */

#include "sim/server.h"

/* A packet that needs the leader has reached the leader. takes: packet. */
void zr_sim_leader_take(struct zr_sim_world *world, struct zr_sim_packet *packet);

/* Makes this the next transaction. The leader applies it at once. takes: txn. */
void zr_sim_leader_commit(struct zr_sim_world *world, struct zr_sim_txn *txn, bool counts);

/* Deletes this container or TTL znode, if it still exists and has no children. */
void zr_sim_leader_reap(struct zr_sim_world *world, const char *path);

/*
 * Checks whether a write may be done, and adds its changes. On an error the parts have their
 * statuses and there are no changes. (prepare.c)
 */
void zr_sim_prepare(struct zr_sim_world *world, struct zr_sim_packet *packet,
                    struct zr_sim_txn *txn);

/* Writes the results of a transaction into the packet that asked for it. (prepare.c) */
void zr_sim_prepared(struct zr_sim_packet *packet, const struct zr_sim_txn *txn);

#endif
