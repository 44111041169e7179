#ifndef ZR_SIM_ACL_H
#define ZR_SIM_ACL_H

/* acl.h: what a connection may do to a znode: ACLs, and the identities of a connection. */

#include "core/zk.h"

/* Never changed after it is made; all znodes that got it share it. */
struct zr_sim_acl {
    int refs;
    size_t count;
    struct zr_acl list[]; /* its texts are in the same block */
};

struct zr_sim_identity {
    struct zr_sim_identity *next;
    char *scheme, *id;
};

/* gives: a list of one entry. */
struct zr_sim_acl *zr_sim_acl_one(int32_t perms, const char *scheme, const char *id);

struct zr_sim_acl *zr_sim_acl_ref(struct zr_sim_acl *acl);
void zr_sim_acl_unref(struct zr_sim_acl *acl);

/*
 * Corrects a client's list as the server does: removes duplicates, and replaces "auth" by the
 * client's identities. gives: *fixed. Errors: ZR_INVALID_ACL.
 */
enum zr_status zr_sim_acl_fix(struct zr_acls asked, const struct zr_sim_identity *who,
                              struct zr_sim_acl **fixed);

/* True when one of `perms` (enum zr_perm, or-ed) is allowed. */
bool zr_sim_acl_allows(const struct zr_sim_acl *acl, int32_t perms,
                       const struct zr_sim_identity *who);

/* gives: a copy whose digests cannot be read. */
struct zr_sim_acl *zr_sim_acl_masked(const struct zr_sim_acl *acl);

/* Adds the identity that a credential proves; false: the server refuses the credential. */
bool zr_sim_identity_add(struct zr_sim_identity **who, const char *scheme,
                         struct zr_bytes credential);

/* takes: all of them. */
void zr_sim_identities_free(struct zr_sim_identity *who);

#endif
