#ifndef ZR_RECEIVE_H
#define ZR_RECEIVE_H

/*
 * receive.h: between the socket and the client library. The library believes the length that a
 * frame states, asks for as much memory, and stops reading for good if there is none. So it
 * receives through this file: it is linked with --wrap=recv. Of an answer that is too large, or for
 * which there is no memory, the library gets only the header, and the rest is thrown away. So the
 * request fails, and the connection goes on. All functions: the I/O thread, for the handle in
 * zr_completion_handle.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/zk.h"

/* What has come of the present frame. All zero: nothing. */
struct zr_incoming {
    uint32_t known;      /* how many of the four bytes of its length have come */
    uint32_t left;       /* bytes that the library has yet to get */
    uint32_t surplus;    /* bytes behind those that it never gets */
    bool begun;          /* the library has asked for what is behind the length */
    bool whole;          /* the library has got a frame in the present zookeeper_process */
    enum zr_status fate; /* ZR_OK; ZR_TOO_LARGE, ZR_NO_MEMORY: the library gets only the header */
};

/* Set it around each zookeeper_process on a connection whose handshake was answered: the library
   receives frames. */
extern bool zr_receiving;

/* True if the library had no memory for a frame, so that it will never read on. */
bool zr_receive_stuck(const struct zr_incoming *incoming);

/* True if no frame has come in part. */
bool zr_receive_between(const struct zr_incoming *incoming);

#endif
