/*
 * It reads one frame after the other:
 * 1. The head: length, xid, zxid, error.
 * 2. Events, pings and the like have xids of their own and are skipped.
 * 3. Any other frame is the answer to the close request.
 *
 * What can go wrong: the connection ends first, or the bytes are not a frame of ZooKeeper's. Then
 * nothing is known of the session.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "zk/goodbye.h"

#include <endian.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define SESSION_EXPIRED (-112)
#define LENGTH_BYTES 4
#define HEADER_BYTES 16

static int32_t integer(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return (int32_t)be32toh(value);
}

/* Events, pings, credentials and watches that are set again. */
static bool is_special(int32_t xid)
{
    return xid == -1 || xid == -2 || xid == -4 || xid == -8;
}

void zr_goodbye_begin(struct zr_goodbye *goodbye)
{
    goodbye->got = goodbye->skip = 0;
}

/* The head is complete. */
static enum zr_goodbye_state judge(struct zr_goodbye *goodbye)
{
    int32_t length = integer(goodbye->head), xid = integer(goodbye->head + LENGTH_BYTES);
    int32_t error = integer(goodbye->head + LENGTH_BYTES + HEADER_BYTES - 4);
    if (length < HEADER_BYTES)
        return ZR_GOODBYE_MISSED;
    if (!is_special(xid))
        return error == 0 || error == SESSION_EXPIRED ? ZR_GOODBYE_SAID : ZR_GOODBYE_MISSED;
    goodbye->got = 0;
    goodbye->skip = (size_t)length - HEADER_BYTES;
    return ZR_GOODBYE_AWAITED;
}

/* Calls recv once. False: nothing has come, or the stream has ended. */
static bool read_some(struct zr_goodbye *goodbye, int fd, struct zr_secure *secure)
{
    unsigned char rest[4096];
    size_t wanted = goodbye->skip < sizeof rest ? goodbye->skip : sizeof rest;
    bool skipping = goodbye->skip > 0;
    if (!skipping)
        wanted = sizeof goodbye->head - goodbye->got;
    unsigned char *to = skipping ? rest : goodbye->head + goodbye->got;
    ssize_t length =
        secure != NULL ? zr_secure_recv(secure, to, wanted) : recv(fd, to, wanted, MSG_DONTWAIT);
    if (length <= 0)
        return false;
    if (skipping)
        goodbye->skip -= (size_t)length;
    else
        goodbye->got += (size_t)length;
    return true;
}

/* A socket that was shut for reading always seems to be at its end; the kernel knows more. */
static bool hung_up(int fd)
{
    struct tcp_info info;
    socklen_t length = sizeof info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 ||
           info.tcpi_state != TCP_ESTABLISHED;
}

enum zr_goodbye_state zr_goodbye_read(struct zr_goodbye *goodbye, int fd, struct zr_secure *secure)
{
    bool last = hung_up(fd); /* what came before that is read */
    enum zr_goodbye_state state = ZR_GOODBYE_AWAITED;
    while (state == ZR_GOODBYE_AWAITED) {
        if (!read_some(goodbye, fd, secure))
            return last ? ZR_GOODBYE_MISSED : ZR_GOODBYE_AWAITED;
        if (goodbye->got == sizeof goodbye->head)
            state = judge(goodbye);
    }
    return state;
}
