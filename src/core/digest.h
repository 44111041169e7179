#ifndef ZR_DIGEST_H
#define ZR_DIGEST_H

/* digest.h: what ZooKeeper's "digest" scheme makes of a user name and a password. Any thread. */

#include "core/zk.h"

#define ZR_DIGEST_LENGTH 28

/* Writes base64(sha1(credential)) and a NUL. borrows: credential, "user:password". */
void zr_digest(struct zr_bytes credential, char to[ZR_DIGEST_LENGTH + 1]);

#endif
