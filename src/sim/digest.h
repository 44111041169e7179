#ifndef ZR_SIM_DIGEST_H
#define ZR_SIM_DIGEST_H

/* digest.h: what ZooKeeper's "digest" scheme makes of a user name and a password. */

#include "core/zk.h"

/* gives: "user:base64(sha1(user:password))". borrows: credential, "user:password". */
char *zr_sim_digest(struct zr_bytes credential);

#endif
