#ifndef ZR_HANDLE_H
#define ZR_HANDLE_H

/*
 * handle.h: everything about one ZooKeeper handle, and which thread may use which part. The host's
 * thread makes it. It belongs to the I/O thread from open until ENDED is in the inbox; then the
 * host's thread frees it. Both threads use only the parts marked as shared;
 * direct.h is the exception.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/handshake.h"
#include "core/list.h"
#include "core/zk.h"
#include "core/lease.h"
#include "zk/goodbye.h"
#include "zk/mailbox.h"
#include "zk/receive.h"
#include "zk/report.h"
#include "zk/resolver.h"
#include "zk/secure.h"
#include "zk/warden.h"

struct zr_io;

/* The credentials of the session; a new client gets all of them again. One block. */
struct zr_credential {
    struct zr_credential *next;
    const char *scheme;
    struct zr_bytes bytes;
};

/* The client library's handle and what we know of its connection. */
struct zr_client {
    struct _zhandle *zh; /* null: none yet, or no more */
    int fd;              /* its socket, until the next call of the library that may change it; -1 */
    short events;        /* what it waits for there; POLLOUT: unsent bytes are queued */
    int64_t wait_us;     /* how long it wants to wait at most */
    int64_t began_us;    /* when the present attempt to connect began */
    struct zr_handshake handshake;
    int64_t paused_until_us; /* the library must not be asked before */

    size_t pending;        /* requests and heartbeats that it has not answered */
    struct zr_list multis; /* of these, the transactions, in the order of their answers */
    struct zr_incoming incoming;
    bool up;             /* it says that it is connected */
    bool asked;          /* ... the request that proves it has been sent */
    bool proved;         /* ... and was answered */
    bool sending;        /* some of what was submitted may still be in its queue */
    bool purging;        /* it lost the connection silently and must be made to notice */
    bool cutting;        /* we are closing the connection, not the server */
    bool unfit;          /* the server sends invalid bytes, or memory is exhausted: replace it */
    bool dead;           /* the session is over, or the credentials were refused: final */
    bool authenticating; /* an ADD_AUTH is under way; only one at a time */
    int32_t timeout_ms;  /* as negotiated, while up */
    int64_t session_id;  /* proved; 0: none yet */
    char password[16];   /* of that session */
    char peer[80];       /* "address:port" of the proved connection */

    /* with TLS or SASL, and then fd is not the library's descriptor but the socket; else null and
       zero */
    struct zr_secure *secure;
    bool again;        /* call the library, whatever poll says */
    bool worked;       /* the last connection was proved */
    int64_t pause_us;  /* the last pause after a failure of TLS ... */
    int64_t resume_us; /* ... and until when it lasts */
};

struct zr_handle {
    /* constant */
    pid_t pid;
    void *owner;
    struct zr_io *io;
    struct zr_mailbox *inbox;
    int32_t timeout_ms;
    bool write_heartbeat;

    /* the host's thread */
    bool closed;

    /* shared */
    struct zr_outlet outlet;
    _Atomic int64_t lease_us, proof_us;

    /* the I/O thread, and who has its turn (loop.h) */
    struct zr_link link; /* in its list of handles */
    struct zr_list todo; /* requests, not yet given to the client */
    struct zr_list out;  /* messages for the inbox, handed over once per turn */
    struct zr_client client;
    struct zr_lease lease;
    struct zr_report report;
    struct zr_warden warden;
    struct zr_credential *credentials;

    struct zr_resolution *resolution;
    char *addresses;      /* the result of the last one */
    uint64_t fingerprint; /* of `addresses` */
    int64_t resolve_us;   /* when to look the names up (again) */
    int64_t backoff_us;   /* what to wait after the next failure */

    int64_t close_by_us;   /* INT64_MAX: not closing */
    int64_t drain_by_us;   /* how long to wait for requests in flight; 0: not draining */
    int64_t drain_missing; /* bytes of the present answer that had not come at the last look ... */
    size_t drain_pending;  /* ... and the answers that had not */
    int64_t parting_us;    /* since when the close request is on its way ... */
    int64_t parting_by_us; /* ... and until when the goodbye is waited for */
    int parting_fd;        /* the socket on which the server's goodbye is awaited, or -1 */
    int parting_count;     /* connections that ended before it came */
    struct zr_goodbye goodbye;
    int poll_index;        /* in this turn's poll, or -1 */
    int64_t rest_until_us; /* 0: it does not rest */
    bool host_waits;       /* its host waits in a call of ours, so it may rest alone ... */
    bool host_reads; /* ... and just now it waits for the socket, and the I/O thread does not */
};

/* gives: a copy, or null. borrows: all. */
struct zr_credential *zr_credential_new(const char *scheme, struct zr_bytes bytes);

/* Appends it to the handle's. takes: credential. */
void zr_credential_add(struct zr_handle *handle, struct zr_credential *credential);

/* gives: a handle that no I/O thread serves yet, or null if memory is exhausted. borrows:
   config. */
struct zr_handle *zr_handle_new(const struct zr_zk_config *config, void *owner, struct zr_io *io,
                                struct zr_mailbox *inbox);

/* takes: handle, after ENDED or before the I/O thread has seen it. */
void zr_handle_free(struct zr_handle *handle);

/* Gives back a request that was certainly not sent. The I/O thread. */
void zr_handle_refuse(struct zr_handle *handle, struct zr_request *request, enum zr_status status);

#endif
