#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

/*
 * SHA-1 and base64, because that is the hash that ACLs contain. It is here so that the core needs
 * no library for it.
 */
#include "core/digest.h"

#include <stdint.h>
#include <string.h>

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
    explicit_bzero(words, sizeof(words));
}

/* The last one or two blocks: what is left of the text, a bit, and the length of all in bits. */
static void add_end(uint32_t hash[5], const char *from, size_t left, uint64_t length)
{
    uint8_t blocks[128] = {0};
    size_t size = left < 56 ? 64 : 128;
    memcpy(blocks, from, left);
    blocks[left] = 0x80;
    for (int i = 0; i < 8; i++)
        blocks[size - 1 - (size_t)i] = (uint8_t)(length * 8 >> (8 * i));
    for (size_t at = 0; at < size; at += 64)
        add_block(hash, blocks + at);
    explicit_bzero(blocks, sizeof(blocks));
}

static void sha1(const char *from, size_t length, uint8_t out[20])
{
    uint32_t hash[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    size_t at = 0;
    for (; length - at >= 64; at += 64)
        add_block(hash, (const uint8_t *)from + at);
    add_end(hash, length > 0 ? from + at : "", length - at, length);
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

void zr_digest(struct zr_bytes credential, char to[ZR_DIGEST_LENGTH + 1])
{
    uint8_t hash[20];
    sha1(credential.at, credential.length, hash);
    base64(hash, to);
    to[ZR_DIGEST_LENGTH] = '\0';
}
