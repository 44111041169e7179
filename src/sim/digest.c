/*
 * SHA-1 and base64. ACLs contain the hash. With another hash the world would refuse requests that
 * the real server allows.
 */
#include "sim/digest.h"

#include <string.h>

#include <stdint.h>

#include "sim/world_alloc.h"

static uint32_t turn(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

/* One step of the eighty. */
static void mix(uint32_t v[5], int i, uint32_t word)
{
    uint32_t f = i < 20   ? (v[1] & v[2]) | (~v[1] & v[3])
                 : i < 40 ? v[1] ^ v[2] ^ v[3]
                 : i < 60 ? (v[1] & v[2]) | (v[1] & v[3]) | (v[2] & v[3])
                          : v[1] ^ v[2] ^ v[3];
    static const uint32_t added[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t next = turn(v[0], 5) + f + v[4] + added[i / 20] + word;
    v[4] = v[3];
    v[3] = v[2];
    v[2] = turn(v[1], 30);
    v[1] = v[0];
    v[0] = next;
}

static void add_block(uint32_t hash[5], const uint8_t block[64])
{
    uint32_t words[80], v[5];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[i * 4] << 24 | (uint32_t)block[i * 4 + 1] << 16 |
                   (uint32_t)block[i * 4 + 2] << 8 | block[i * 4 + 3];
    for (int i = 16; i < 80; i++)
        words[i] = turn(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    memcpy(v, hash, sizeof(v));
    for (int i = 0; i < 80; i++)
        mix(v, i, words[i]);
    for (int i = 0; i < 5; i++)
        hash[i] += v[i];
}

static void sha1(const char *from, size_t length, uint8_t out[20])
{
    uint32_t hash[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    size_t padded = (length + 8) / 64 * 64 + 64;
    uint8_t *text = zr_sim_alloc(padded);
    if (length > 0)
        memcpy(text, from, length);
    text[length] = 0x80;
    for (int i = 0; i < 8; i++)
        text[padded - 1 - (size_t)i] = (uint8_t)((uint64_t)length * 8 >> (8 * i));
    for (size_t at = 0; at < padded; at += 64)
        add_block(hash, text + at);
    zr_sim_release(text);
    for (int i = 0; i < 20; i++)
        out[i] = (uint8_t)(hash[i / 4] >> (24 - i % 4 * 8));
}

/* Twenty bytes become 27 characters and one '='. */
static void base64(const uint8_t from[20], char *to)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < 27; i++) {
        int bit = i * 6, byte = bit / 8;
        uint32_t two = (uint32_t)from[byte] << 8 | (byte + 1 < 20 ? from[byte + 1] : 0);
        to[i] = letters[two >> (10 - bit % 8) & 63];
    }
    to[27] = '=';
}

char *zr_sim_digest(struct zr_bytes credential)
{
    uint8_t hash[20];
    sha1(credential.at, credential.length, hash);
    const char *colon =
        credential.length > 0 ? memchr(credential.at, ':', credential.length) : NULL;
    size_t user = colon != NULL ? (size_t)(colon - credential.at) : credential.length;
    char *id = zr_sim_alloc(user + 1 + 28 + 1);
    if (user > 0)
        memcpy(id, credential.at, user);
    id[user] = ':';
    base64(hash, id + user + 1);
    return id;
}
