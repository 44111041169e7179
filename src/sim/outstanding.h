#ifndef ZR_SIM_OUTSTANDING_H
#define ZR_SIM_OUTSTANDING_H

/*
 * outstanding.h: the znodes as they will be after the parts of a multi that were checked so far. A
 * record stands for its znode in place of the tree's.
 */

#include "sim/txn.h"

struct zr_sim_world;

struct zr_sim_record {
    const char *path; /* not terminated; empty for the root */
    size_t length;
    bool exists;
    int32_t version, cversion, aversion, children;
    int64_t owner;
    struct zr_sim_acl *acl; /* the tree's, or that of an earlier change of this multi */
};

struct zr_sim_outstanding {
    struct zr_sim_world *world;
    const struct zr_sim_identity *who;
    int64_t session_id;
    struct zr_sim_txn *txn;
    size_t count;
    struct zr_sim_record *records, few[8];
};

/* borrows: who. keeps: txn. parts: each may add two records. */
void zr_sim_outstanding_init(struct zr_sim_outstanding *outstanding, struct zr_sim_world *world,
                             struct zr_sim_txn *txn, size_t parts);
void zr_sim_outstanding_fini(struct zr_sim_outstanding *outstanding);

/* Finds the znode as it will be after these parts. keeps: path, in *found. False: it will not
   exist. */
bool zr_sim_outstanding_find(const struct zr_sim_outstanding *outstanding, const char *path,
                             size_t length, struct zr_sim_record *found);

/* Records that the znode will be like this. */
void zr_sim_outstanding_note(struct zr_sim_outstanding *outstanding,
                             const struct zr_sim_record *record);

#endif
