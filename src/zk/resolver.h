#ifndef ZR_RESOLVER_H
#define ZR_RESOLVER_H

/*
 * resolver.h: resolves names to numeric addresses, each time on a new thread, because getaddrinfo
 * may take half a minute and can be neither limited nor interrupted.
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
    struct zr_mailbox *answers; /* it returns to this mailbox */
    const char *hosts;          /* "name:port,name,[::1]:port" */
    char *addresses; /* out: "1.2.3.4:2181,::1:2181"; null: none could be resolved; belongs to the
                        taker */
    char *names; /* out: which name each address belongs to: "1.2.3.4:2181", "zk1", each with its
                    NUL, and "" at the end; null as above; belongs to the taker */
    uint64_t fingerprint;              /* out: equal for equal sets of addresses, in any order */
    char failure[ZR_RESOLVER_FAILURE]; /* out: "cannot resolve NAME: reason"; "": none */
};

/* gives: a resolution, or null if memory is exhausted. borrows: hosts. keeps: answers. */
struct zr_resolution *zr_resolution_new(const char *hosts, struct zr_mailbox *answers);

/* Looks up the names; the resolution comes back in the mailbox. Only while it is not busy. The
   I/O thread. */
void zr_resolution_start(struct zr_resolution *resolution);

/* Frees what it has found and nobody has taken. Not while it is busy. */
void zr_resolution_forget(struct zr_resolution *resolution);

/* takes: resolution. While it is busy, it is only marked. The I/O thread, or the last thread
   that knows it. */
void zr_resolution_free(struct zr_resolution *resolution);

#endif
