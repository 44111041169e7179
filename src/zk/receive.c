/*
 * 1. The library receives the four bytes that state a frame's length. If the length is invalid, it
 *    gets an error instead, and closes the connection.
 * 2. If the length is ordinary, it receives the frame.
 * 3. If the frame is too large, it is told that only the header follows, and gets that. The frame
 *    has a fate now, and decode.c fails the request that it answers. The rest is thrown away
 *    before the next frame.
 */
#include "zk/receive.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "core/alloc.h"
#include "zk/completion.h"
#include "zk/decode.h"
#include "zk/secure.h"

#define LENGTH 4            /* bytes that state the length of a frame */
#define HEADER 16           /* xid, zxid, error */
#define ORDINARY 65536      /* for a frame up to this, the library just tries to get the memory */
#define MOST_DROPPED 262144 /* in one turn, so that no handle starves the others */

ssize_t __wrap_recv(int fd, void *to, size_t size, int flags);

bool zr_receiving;

bool zr_receive_stuck(const struct zr_incoming *incoming)
{
    return incoming->left > 0 && !incoming->begun;
}

bool zr_receive_between(const struct zr_incoming *incoming)
{
    return incoming->known == 0 && incoming->surplus == 0;
}

/* The library's word for "nothing more now". */
static ssize_t nothing(void)
{
    errno = EAGAIN;
    return -1;
}

/* gives: as recv; more than 0 when all is dropped. */
static ssize_t drop(int fd, struct zr_incoming *incoming)
{
    char rest[4096]; /* the thread that has the turn (loop.h) may have a small stack */
    for (size_t most = MOST_DROPPED; incoming->surplus > 0;) {
        size_t wanted = incoming->surplus < sizeof rest ? incoming->surplus : sizeof rest;
        ssize_t got = most >= wanted ? zr_secure_library_recv(fd, rest, wanted, 0) : nothing();
        if (got <= 0)
            return got;
        incoming->surplus -= (uint32_t)got;
        most -= (size_t)got;
    }
    return 1;
}

static enum zr_status fate_of(uint32_t length)
{
    if (length > ZR_ANSWER_MAX)
        return ZR_TOO_LARGE;
    return length <= ORDINARY || zr_alloc_possible(length) ? ZR_OK : ZR_NO_MEMORY;
}

/* The length is known. word: the library's four bytes of it. */
static bool begin(struct zr_incoming *incoming, unsigned char *word)
{
    static const unsigned char header[LENGTH] = {0, 0, 0, HEADER};
    uint32_t length =
        (uint32_t)word[0] << 24 | (uint32_t)word[1] << 16 | (uint32_t)word[2] << 8 | word[3];
    if (length > INT32_MAX) {
        zr_decode_blame("a frame of an invalid length");
        return false;
    }
    incoming->fate = fate_of(length);
    incoming->begun = length == 0;
    incoming->left = incoming->fate == ZR_OK ? length : HEADER;
    incoming->surplus = length - incoming->left;
    if (incoming->fate != ZR_OK)
        memcpy(word, header, sizeof header);
    return true;
}

static ssize_t receive_length(int fd, unsigned char *to, struct zr_incoming *incoming)
{
    ssize_t got = incoming->surplus > 0 ? drop(fd, incoming) : 1;
    if (got > 0)
        got = zr_secure_library_recv(fd, to, LENGTH - incoming->known, 0);
    if (got <= 0)
        return got;
    incoming->known += (uint32_t)got;
    if (incoming->known < LENGTH || begin(incoming, to + got - 4))
        return got;
    errno = EPROTO;
    return -1;
}

static ssize_t receive_frame(int fd, void *to, size_t size, struct zr_incoming *incoming)
{
    incoming->begun = true;
    ssize_t got = zr_secure_library_recv(fd, to, size, 0);
    if (got > 0)
        incoming->left -= (uint32_t)got;
    if (incoming->left == 0)
        incoming->known = 0;
    bool broken = got == 0 || (got < 0 && errno != EAGAIN); /* of an empty frame it gets -1 too */
    incoming->whole = incoming->left == 0 && !broken;
    return got;
}

ssize_t __wrap_recv(int fd, void *to, size_t size, int flags)
{
    if (!zr_receiving)
        return zr_secure_library_recv(fd, to, size, flags);
    struct zr_incoming *incoming = &zr_completion_handle->client.incoming;
    if (incoming->known == LENGTH)
        return receive_frame(fd, to, size, incoming);
    return receive_length(fd, to, incoming);
}
