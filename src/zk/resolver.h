#ifndef ZR_RESOLVER_H
#define ZR_RESOLVER_H

/*
 * resolver.h: resolves names to numeric addresses, each time on a thread of its own, because
 * getaddrinfo may take half a minute and can be neither limited nor interrupted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/list.h"
#include "zk/mailbox.h"

#define ZR_RESOLVER_FAILURE 256
#define ZR_RESOLVER_ADDRESS 80 /* IPv6 with an interface name, and a port */

/* One list of names, resolved as often as wanted. While busy it belongs to the helper thread. */
struct zr_resolution {
    struct zr_link link; /* in the mailbox of answers; first member */
    void *owner;         /* null: forgotten; the code that takes it from the mailbox frees it */
    bool busy;           /* from start until it is taken from the mailbox */
    struct zr_mailbox *answers; /* where it comes back to */
    const char *hosts;          /* "name:port,name,[::1]:port" */
    char *addresses;            /* out: "1.2.3.4:2181,::1:2181"; null: not one; the taker's */
    uint64_t fingerprint;       /* out: the same for the same set of addresses in any order */
    char failure[ZR_RESOLVER_FAILURE]; /* out: "cannot resolve NAME: reason"; "": none */
};

/* gives: it, or null when there is no memory. borrows: hosts. keeps: answers. */
struct zr_resolution *zr_resolution_new(const char *hosts, struct zr_mailbox *answers);

/* Looks the names up; it comes back in the mailbox. Only when it is not busy. The I/O thread. */
void zr_resolution_start(struct zr_resolution *resolution);

/* takes: it; while it is busy it is only forgotten. The I/O thread, or the last one to know it. */
void zr_resolution_free(struct zr_resolution *resolution);

#endif
