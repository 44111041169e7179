#ifndef ZR_GUARDIAN_ORDER_H
#define ZR_GUARDIAN_ORDER_H

/*
 * order.h: what a process tells its guardian, one order per packet, over a pair of sockets whose
 * other end only the process holds. Both come from the same build; the magic bytes show when they
 * do not.
 *
 * The guardian finds what it needs in the lowest descriptors, so that whatever else it was started
 * with can be closed.
 */

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

enum {
    ZR_GUARDIAN_ORDERS,  /* its end of the pair */
    ZR_GUARDIAN_PROCESS, /* a pidfd of the process: readable when all of its threads have ended */
    ZR_GUARDIAN_MEMORY,  /* /proc/PID/maps, opened by the process: empty when its program is gone */
    ZR_GUARDIAN_PROGRAM, /* itself, for the dynamic loader; closed at once */
    ZR_GUARDIAN_DESCRIPTORS
};
#define ZR_GUARDIAN_PROGRAM_DIGIT "3"

#define ZR_GUARDIAN_MAGIC "zkguard1"
#define ZR_GUARDIAN_SERVERS 64

enum zr_guardian_task {
    ZR_GUARD, /* end this session when the process is dead */
    /* The last order is one of these two; it has no other content: */
    ZR_GUARD_BRIEFLY, /* as ZR_GUARD, but try only briefly: the session ends within its timeout
                         anyway */
    ZR_GUARD_NOTHING, /* the session is over */
};

struct zr_guardian_server {
    uint32_t length;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
};

struct zr_guardian_order {
    char magic[8];
    int32_t task; /* enum zr_guardian_task */
    int32_t timeout_ms;
    int64_t session_id;
    char password[16];
    uint32_t server_count;
    struct zr_guardian_server servers[ZR_GUARDIAN_SERVERS]; /* the most promising first */
};

#endif
