#ifndef ZR_MD5_H
#define ZR_MD5_H

/* md5.h: the hash MD5 (RFC 1321). DIGEST-MD5 prescribes it; use it for nothing else. */

#include <stddef.h>
#include <stdint.h>

#define ZR_MD5_BYTES 16

struct zr_md5 {
    uint32_t state[4];
    uint64_t length; /* so far, bytes */
    unsigned char block[64];
};

void zr_md5_begin(struct zr_md5 *md5);
void zr_md5_add(struct zr_md5 *md5, const void *bytes, size_t length);

/* Writes the hash, and overwrites md5. */
void zr_md5_end(struct zr_md5 *md5, unsigned char hash[ZR_MD5_BYTES]);

#endif
