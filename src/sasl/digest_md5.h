#ifndef ZR_DIGEST_MD5_H
#define ZR_DIGEST_MD5_H

/*
 * digest_md5.h: the client's half of the SASL mechanism DIGEST-MD5 (RFC 2831), without security
 * layers. The server sends a challenge, the client a response, which proves that it knows the
 * password, and the server a last token, which proves that it knows it too. Pure: the caller sends
 * and receives.
 */

#include <stdbool.h>
#include <stddef.h>

#define ZR_DIGEST_USER 255      /* most bytes of a user's name */
#define ZR_DIGEST_RESPONSE 2048 /* room for every response */
#define ZR_DIGEST_NONCE 33      /* 32 hexadecimal digits */

struct zr_digest_account {
    const char *uri;             /* of the service: "zookeeper/zk-sasl-md5" */
    const char *user, *password; /* UTF-8; user: ZR_DIGEST_USER bytes at most */
};

struct zr_digest {
    char response[ZR_DIGEST_RESPONSE];
    size_t length;  /* of the response */
    char proof[33]; /* that the server has to give: hexadecimal digits */
};

/*
 * Answers a challenge. ours: random, ZR_DIGEST_NONCE bytes, never used before. Returns null, or
 * what is wrong with the challenge, a phrase: then there is no response. borrows: all.
 */
const char *zr_digest_respond(struct zr_digest *digest, const struct zr_digest_account *account,
                              const char *ours, const char *challenge, size_t length);

/* True if the server's last token is the proof. */
bool zr_digest_proved(const struct zr_digest *digest, const char *token, size_t length);

#endif
