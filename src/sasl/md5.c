#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "sasl/md5.h"

#include <string.h>

/* 2^32 * |sin(i + 1)| */
static const uint32_t added[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static const unsigned char turns[4][4] = {
    {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t turn(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

/* One step of the sixty-four. */
static void mix(uint32_t v[4], int i, const uint32_t words[16])
{
    static const int factor[] = {1, 5, 3, 7}, first[] = {0, 1, 5, 0};
    int round = i / 16;
    uint32_t f = round == 0   ? (v[1] & v[2]) | (~v[1] & v[3])
                 : round == 1 ? (v[3] & v[1]) | (~v[3] & v[2])
                 : round == 2 ? v[1] ^ v[2] ^ v[3]
                              : v[2] ^ (v[1] | ~v[3]);
    uint32_t sum = v[0] + f + added[i] + words[(first[round] + factor[round] * i) % 16];
    v[0] = v[3];
    v[3] = v[2];
    v[2] = v[1];
    v[1] += turn(sum, turns[round][i % 4]);
}

static void add_block(uint32_t state[4], const unsigned char block[64])
{
    uint32_t words[16], v[4];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[i * 4 + 3] << 24 | (uint32_t)block[i * 4 + 2] << 16 |
                   (uint32_t)block[i * 4 + 1] << 8 | block[i * 4];
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++)
        mix(v, i, words);
    for (int i = 0; i < 4; i++)
        state[i] += v[i];
    explicit_bzero(words, sizeof words);
}

void zr_md5_begin(struct zr_md5 *md5)
{
    *md5 = (struct zr_md5){.state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

void zr_md5_add(struct zr_md5 *md5, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    while (length > 0) {
        size_t filled = md5->length % sizeof md5->block, room = sizeof md5->block - filled;
        size_t part = length < room ? length : room;
        memcpy(md5->block + filled, from, part);
        md5->length += part;
        from += part;
        length -= part;
        if (part == room)
            add_block(md5->state, md5->block);
    }
}

void zr_md5_end(struct zr_md5 *md5, unsigned char hash[ZR_MD5_BYTES])
{
    static const unsigned char padding[64] = {0x80};
    unsigned char bits[8];
    for (int i = 0; i < 8; i++)
        bits[i] = (unsigned char)(md5->length * 8 >> (8 * i));
    size_t filled = md5->length % 64;
    zr_md5_add(md5, padding, filled < 56 ? 56 - filled : 120 - filled);
    zr_md5_add(md5, bits, sizeof bits);
    for (int i = 0; i < ZR_MD5_BYTES; i++)
        hash[i] = (unsigned char)(md5->state[i / 4] >> (8 * (i % 4)));
    explicit_bzero(md5, sizeof *md5);
}
