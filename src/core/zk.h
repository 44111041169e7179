#ifndef ZR_ZK_H
#define ZR_ZK_H

/*
 * zk.h: all that the engine asks of ZooKeeper, as one table of functions. Two things implement
 * it: the real client (src/zk) and a simulated ZooKeeper (src/sim).
 *
 * Thread: every function of the table is called on the host's thread only. An implementation
 * never calls the engine; it puts messages into the inbox, and the engine takes them. So no reply
 * is delivered inside the function that asked for it.
 *
 * Time: `_us` are microseconds on the clock of now_us (monotonic; it does not stop while
 * the machine sleeps); `_ms` are milliseconds.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/list.h"
#include "core/status.h"

enum zr_op {
    ZR_OP_CREATE,
    ZR_OP_DELETE,
    ZR_OP_EXISTS,
    ZR_OP_GET,
    ZR_OP_SET,
    ZR_OP_CHILDREN,
    ZR_OP_SYNC,
    ZR_OP_GET_ACL,
    ZR_OP_SET_ACL,
    ZR_OP_ADD_AUTH, /* data = credential, path = scheme */
    ZR_OP_RECONFIG,
    ZR_OP_UNWATCH, /* removes all watches on the path, in the client and on the server */
    ZR_OP_MULTI,
    ZR_OP_CHECK, /* only as a part of a multi */
};

/* As ZooKeeper numbers them. */
enum zr_mode {
    ZR_PERSISTENT = 0,
    ZR_EPHEMERAL = 1,
    ZR_PERSISTENT_SEQUENTIAL = 2,
    ZR_EPHEMERAL_SEQUENTIAL = 3,
    ZR_CONTAINER = 4,
    ZR_PERSISTENT_TTL = 5,
    ZR_PERSISTENT_SEQUENTIAL_TTL = 6,
};

#define ZR_ANY_VERSION (-1)

/* Bytes of an answer, the list of a million znodes being less than half of it. */
#define ZR_ANSWER_MAX 64000000

/* Bytes that may be null: ZR_NO_DATA is ZooKeeper's null data, {"", 0} is empty data. */
struct zr_bytes {
    const char *at;
    size_t length;
};
#define ZR_NO_DATA ((struct zr_bytes){NULL, 0})

struct zr_stat {
    int64_t czxid, mzxid, pzxid; /* pzxid: last change of the list of children */
    int64_t ctime_ms, mtime_ms;  /* since 1970, the server's clock */
    int64_t ephemeral_owner;     /* session id, 0 when persistent */
    int32_t version, cversion, aversion;
    int32_t data_length, child_count;
};

enum zr_perm { ZR_READ = 1, ZR_WRITE = 2, ZR_CREATE = 4, ZR_DELETE = 8, ZR_ADMIN = 16 };

struct zr_acl {
    int32_t perms; /* enum zr_perm, or-ed */
    const char *scheme, *id;
};

struct zr_acls {
    const struct zr_acl *list;
    size_t count;
};

/* ---- Messages ------------------------------------------------------------------------------ */

enum zr_message_kind {
    ZR_MSG_REPLY,       /* a struct zr_request comes back */
    ZR_MSG_CONNECTED,   /* the first request on a new connection was answered */
    ZR_MSG_SUSPENDED,   /* the connection is gone; the session may live on */
    ZR_MSG_EXPIRED,     /* the server said that the session is over, or gave us another one */
    ZR_MSG_AUTH_FAILED, /* the server refused the credentials; final */
    ZR_MSG_EVENT,       /* a watch fired */
    ZR_MSG_NOTE,        /* a line for the log */
    ZR_MSG_ENDED,       /* after close: the last message of this handle */
};

/* The log line for when no server could be reached. The lines before it say why. */
#define ZR_NOTE_RESTING "no server can be reached; the session keeps trying"

enum zr_event_kind { ZR_CREATED, ZR_DELETED, ZR_CHANGED, ZR_CHILDREN_CHANGED };

/*
 * What the inbox holds: the first member of a struct zr_request (kind ZR_MSG_REPLY) or of a struct
 * zr_notice (all other kinds).
 *
 * Messages keep the order of what happened: CONNECTED comes before the first reply of its
 * connection, SUSPENDED and EXPIRED before the replies that fail because of them.
 */
struct zr_message {
    struct zr_link link;
    enum zr_message_kind kind;
};

/* The implementation allocates it as one block. The engine returns it with free_notice. */
struct zr_notice {
    struct zr_message message; /* first */
    void *owner;               /* as given to open */
    int64_t proof_us;          /* as of zr_zk.proof_us when this happened; 0 if `text` of an event
                                  is null: it is late */
    int64_t session_id;        /* connected */
    int32_t timeout_ms;        /* connected: as negotiated */
    enum zr_event_kind event;  /* event */
    char level;                /* note: 'E', 'W', 'I' */
    bool repeated;             /* note: the log has it already; it is only a reason */
    const char *text;          /* event: the path, or null: any watch may have fired (memory was
                                  exhausted); note: the line; connected: "address:port" of the server */
};

/* ---- Requests ------------------------------------------------------------------------------ */

/*
 * One request and its reply. The engine makes it, submit() lends it to the implementation, and it
 * comes back in the inbox with the lower half filled in; until then the engine does not touch it.
 * The upper half's pointers belong to the engine. `data_reply`, `names` and `acl_reply` are
 * allocated with zr_alloc by the implementation, one block each, and freed by the engine.
 */
struct zr_request {
    struct zr_message message; /* in the outbox, then in the inbox; first member */
    enum zr_op op;
    bool watch;           /* exists, get, children: leave a one-shot watch */
    int32_t version;      /* delete, set, check, set_acl, reconfig: -1 for any */
    enum zr_mode mode;    /* create */
    bool answer_may_wait; /* create: a request that is sent behind it says more; they may be handed
                             over together */
    int64_t ttl_ms;       /* create with TTL */
    const char *path;     /* absolute, with the namespace; checked by the engine */
    struct zr_bytes data; /* create, set; add_auth: the credential */
    struct zr_acls acl;   /* create, set_acl */
    const char *joining, *leaving, *members; /* reconfig, each may be null */
    struct zr_request *parts;                /* multi: an array, each with its own reply */
    size_t part_count;
    char *created; /* create: room for strlen(path) + 12 bytes, made by the engine, so that the
                      answer to a create needs no memory */

    /* the reply */
    enum zr_status status; /* ZR_CONNECTION_LOSS: it may or may not have been done ... */
    bool sent;             /* ... but if this is false, it certainly was not. If it is true, reads
                              fail with ZR_TOO_LARGE if the answer is larger than ZR_ANSWER_MAX, and
                              with ZR_NO_MEMORY if there is no memory for it; writes do not */
    struct zr_stat stat;   /* create, exists, get, set, children, get_acl */
    struct zr_bytes data_reply;
    struct zr_names *names;         /* children */
    struct zr_acl_reply *acl_reply; /* get_acl */
};

/* The names of children, in the server's order. One block. */
struct zr_names {
    size_t count;
    char *at[];
};

struct zr_acl_reply {
    size_t count;
    struct zr_acl at[];
};

struct zr_auth {
    const char *scheme;
    struct zr_bytes credential;
};

/* TLS between the client and the servers. Files are PEM; null: not given. */
struct zr_tls_options {
    bool wanted;
    const char *ca;         /* the CAs that are trusted; null: the system's */
    const char *cert, *key; /* ours; key null: it is in cert */
    const char *password;   /* of key */
    const char *name;       /* that every server has to prove; null: its name in hosts */
    bool any_server;        /* verify no certificate */
};

/* How the client proves to the servers who it is; null: not given. */
struct zr_sasl_options {
    bool wanted;
    const char *mechanism;
    const char *user, *password; /* DIGEST-MD5 */
    const char *keytab; /* GSSAPI: a file with the key of user; null: the system's tickets */
};

struct zr_zk_config {
    const char *hosts; /* "name:port,name:port": no chroot, checked by the engine */
    int32_t timeout_ms;
    int64_t tick_us; /* the servers' tickTime, for the lease; 0: not known */
    const struct zr_auth *auth;
    size_t auth_count;
    struct zr_tls_options tls;   /* the simulator has no network */
    struct zr_sasl_options sasl; /* nor does it know SASL */
    bool write_heartbeat;        /* the lease's heartbeats are writes, which need the quorum */
    bool guardian; /* a process of its own ends the session when this one dies; the simulator
                      knows no processes */
};

/* One ZooKeeper handle: a connection, or the attempts to get one, and at most one session. */
struct zr_handle;

/* ---- The table ----------------------------------------------------------------------------- */

struct zr_zk {
    /* The time now, in microseconds. Any thread. */
    int64_t (*now_us)(struct zr_zk *zk);

    /*
     * Opens a handle and returns at once; it resolves names and connects in the background, until
     * close. borrows: config. keeps: owner, which comes with every message, until ENDED. Errors:
     * ZR_NO_MEMORY.
     */
    enum zr_status (*open)(struct zr_zk *zk, const struct zr_zk_config *config, void *owner,
                           struct zr_handle **handle);

    /*
     * Sends a request; each request comes back exactly once, as a ZR_MSG_REPLY, before ENDED.
     * Without a connection it comes back with ZR_CONNECTION_LOSS and sent = false. keeps: request,
     * until it comes back.
     */
    void (*submit)(struct zr_handle *handle, struct zr_request *request);

    /*
     * Ends the session and the handle. Requests in flight are answered or fail; then ENDED comes.
     * Without a connection it tries for linger_us to reach a server, so that the session is ended
     * there too. Submit nothing after it. A second close only shortens linger_us.
     */
    void (*close)(struct zr_handle *handle, int64_t linger_us);

    /* After ENDED was taken. takes: handle. */
    void (*free_handle)(struct zr_handle *handle);

    /*
     * Until when (clock of now_us) the session surely lives on the server, see lease.c. 0 while
     * there is no session. Never grows again once it has passed. Only grows while one session
     * lasts, unless a reconnect is granted a shorter timeout; that is not told before CONNECTED.
     */
    int64_t (*lease_us)(struct zr_handle *handle);

    /*
     * When the last heartbeat was sent that the leader has answered (clock of now_us): all that
     * the server had told before is in the inbox, or was taken. 0: none yet, or an event was lost
     * for want of memory, and is still to be told.
     */
    int64_t (*proof_us)(struct zr_handle *handle);

    /* Appends all messages that have come in (struct zr_message); after that the
       descriptor is no longer readable. */
    void (*take)(struct zr_zk *zk, struct zr_list *messages);

    /* takes: a notice that was taken from the inbox. */
    void (*free_notice)(struct zr_zk *zk, struct zr_notice *notice);

    /* Makes the descriptor readable, for an engine that has more to do. */
    void (*wake)(struct zr_zk *zk);

    /* Readable when take() would find something; -1 for the simulator. Never changes. */
    int (*fd)(struct zr_zk *zk);

    /*
     * From now on a byte is written to this stream socket too whenever the descriptor becomes
     * readable, and one byte immediately. For hosts that cannot watch a foreign descriptor. takes:
     * socket, which replaces the one before; -1: none. Null: not offered (the simulator).
     */
    void (*set_bell)(struct zr_zk *zk, int socket);

    /*
     * Blocks until take() would find something, the time is over (negative: no limit), or a
     * signal or something for the session alone came. The simulator moves its clock instead.
     */
    void (*wait)(struct zr_zk *zk, int64_t timeout_us);

    /*
     * takes: zk. All handles have ended; or, after a fork, they belong to the parent and are only
     * forgotten.
     */
    void (*free)(struct zr_zk *zk);
};

#endif
