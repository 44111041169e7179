#ifndef ZR_SESSION_H
#define ZR_SESSION_H

/*
 * session.h: one ZooKeeper session as the user sees it: it outlives connections, and after its
 * loss it opens a new one by itself, of a later generation.
 *
 * Thread: the host's.
 */

#include "core/engine.h"
#include "core/object.h"
#include "core/signal.h"
#include "core/table.h"
#include "core/timer.h"
#include "core/zk.h"

enum zr_state {
    ZR_CONNECTING, /* no session yet */
    ZR_CONNECTED,
    ZR_SUSPENDED, /* the link is lost, the session may live */
    ZR_STATE_LOST,
    ZR_STATE_CLOSED,
};

#define ZR_STATES_KEPT 16

/* How long a session that was closed without a limit tries to tell the server. */
#define ZR_LINGER_US 2000000

struct zr_session_options {
    struct zr_bytes hosts, namespace;
    int64_t timeout_us;         /* -1: the default */
    int64_t request_timeout_us; /* -1: the session's timeout */
    int64_t tick_us;            /* the servers' tickTime; -1: not known */
    struct zr_auths auth;
    struct zr_acls acl;
    struct zr_tls_options tls;
    struct zr_sasl_options sasl;
    bool strict;   /* the lease's heartbeat is a write */
    bool guardian; /* a process of its own ends the session when this one dies */
    bool logging;  /* the host reads the engine's notes */
};

/* How much of something the session has in use, see budget.h. */
struct zr_budget {
    size_t used, limit;
    const char *what; /* for the warning: what is counted, and what fails at the limit */
    bool warned;
};

struct zr_call;

/*
 * What a session tells the layers above it. They know the session; it does not know them. The only
 * instance is in session_above.c.
 */
struct zr_above {
    void (*changed)(struct zr_session *session); /* its state has changed, or a handle has ended */
    void (*connected)(struct zr_session *session); /* requests may flow */
    void (*suspended)(struct zr_session *session);
    void (*over)(struct zr_session *session, enum zr_status why); /* its generation is over */
    void (*event)(struct zr_session *session, const char *path, enum zr_event_kind kind);
    /* One of its requests: it leaves a watch and is being sent; it was answered; it is freed. */
    void (*sent)(struct zr_call *call);
    void (*answered)(struct zr_call *call);
    void (*freed)(struct zr_call *call);
    void (*left)(struct zr_task *task); /* a task no longer waits for the node of task->watch */
};

/* The handle of one generation. It is the owner of the handle's messages (zk.h). */
struct zr_generation {
    struct zr_link in_session;
    struct zr_session *session; /* counted */
    struct zr_handle *handle;
};

struct zr_session {
    struct zr_object object;
    struct zr_engine *engine; /* counted */
    const struct zr_above *above;
    struct zr_link in_engine;
    enum zr_state state;
    enum zr_status reason;      /* why it is closed: ZR_CLOSED or ZR_AUTH_FAILED */
    struct zr_generation *now;  /* null while there is none */
    int generation;             /* number of `now`, grows by one per handle */
    struct zr_list generations; /* that have not ended, by in_session */
    int users;                  /* what the user holds: the session, locks, holds */
    bool forgotten;             /* the user no longer holds the session itself */
    int64_t id;                 /* of the ZooKeeper session, 0 while there is none */
    int32_t timeout_ms;         /* asked for, then negotiated */
    int32_t asked_timeout_ms;
    int64_t request_timeout_us; /* of plain requests that name none, or -1 */
    int64_t tick_us;            /* the servers' tickTime; 0: not known */
    char server[64];            /* "address:port", "" while not connected */
    char *hosts;                /* without chroot */
    char *namespace;            /* "" or "/a/b": chroot and namespace */
    struct zr_acls acl;         /* one block, ours */
    struct zr_auth *auth;       /* ours */
    size_t auth_count;
    struct zr_tls_options tls;   /* ours */
    struct zr_sasl_options sasl; /* ours */
    bool strict, guardian, logging;
    bool no_containers;                   /* the server is too old for them */
    bool namespace_made;                  /* it was made, or no request has missed it */
    char *trouble;                        /* what went wrong with the connection last, or null */
    struct zr_signal changed;             /* fires at every change of state */
    enum zr_state states[ZR_STATES_KEPT]; /* the last states, a ring */
    int64_t state_count;
    uint16_t connections;   /* so far */
    int64_t proof_us;       /* of the last notice, see zr_session_proof_us */
    struct zr_timer lease;  /* fires when the lease may be over */
    struct zr_timer reopen; /* fires when a new handle is due */
    int64_t backoff_us;
    struct zr_list tasks; /* struct zr_task, by in_session */
    struct zr_list ties;  /* struct zr_tie */
    struct zr_list queue; /* struct zr_call: wait for a connection */
    int in_flight;
    size_t out_bytes;                         /* of data, in what is in flight */
    uint64_t tags;                            /* how many zr_session_tag has given */
    struct zr_table watches, listings, seats; /* watch.h, listing.h, seat.h */
    struct zr_table queues;                   /* recipes/queue/room.c: by path */
    struct zr_table strangers;                /* strangers.h ... */
    struct zr_list strangers_met;             /* ... the one that was met last at the end */
    struct zr_timer strangers_due;            /* ... when the first of them is forgotten */
    size_t stranger_bytes;                    /* ... of their paths */
    struct zr_budget watched;                 /* bytes of paths */
    struct zr_list idle_watches; /* watch.c: that no task needs, the longest idle one first */
    struct zr_timer sweep;       /* ... takes them back */
    struct zr_list
        absent_watches;         /* watch_absent.h: the one that was asked about last at the end */
    struct zr_timer absent_due; /* ... when the first of them is asked about again */
    struct zr_table ephemerals; /* ephemerals.h */
    struct zr_budget ephemeral; /* ... bytes of paths */
    size_t unsure_bytes;        /* ... */
    struct zr_list to_audit;    /* ... the entries, the one that was asked about last at the end */
    bool auditing;              /* ... a request about one is out, or waits */
    size_t audit_left, audited; /* ... entries of this audit; bytes in use after the last one */
};

/* Something that ends with the session's generation: a hold. */
struct zr_tie {
    struct zr_link link;
    void (*cut)(struct zr_tie *tie, enum zr_status why); /* ZR_LOST, ZR_CLOSED ...; unlinked */
};

/* Returns what is wrong with the options; null: a session can have them. */
const char *zr_session_misuse(const struct zr_session_options *options);

/*
 * Opens a session and returns at once. keeps: class, whose `free` is zr_session_free. borrows:
 * options, in which zr_session_misuse finds nothing. gives: session, with one reference. Errors:
 * ZR_NO_MEMORY, ZR_FORKED.
 */
enum zr_status zr_session_open(struct zr_engine *engine, const struct zr_class *class,
                               const struct zr_session_options *options,
                               struct zr_session **session);

/* How the binding reads the options of `zk.session`. */
extern const struct zr_option zr_session_options[];

/*
 * Ends it: wakes every waiter with ZR_CLOSED and ends the holds. Returns at once; `changed` fires
 * again when the server has been told. linger_us: how long to try to tell it, also for sessions
 * that were lost before; a second close can only make it shorter.
 */
void zr_session_close(struct zr_session *session, int64_t linger_us);

/*
 * Counts the things of the user that need the session: one more, one less. At zero the session is
 * closed. Each user of it also keeps its memory.
 */
void zr_session_use(struct zr_session *session);
void zr_session_unuse(struct zr_session *session);

/* True when nothing of a closed session is left on the wire. */
bool zr_session_ended(const struct zr_session *session);

/* Tells the log what is unusual about the timeout of a new session. */
void zr_session_note_timeout(struct zr_session *session);

/* ZR_OK, or why the session cannot be used: ZR_FORKED, ZR_CLOSED, ZR_AUTH_FAILED. */
enum zr_status zr_session_usable(const struct zr_session *session);

/* How long a request without a limit of its own waits for its answer: `request_timeout`, or the
   session's timeout if that is not set. */
int64_t zr_session_patience_us(const struct zr_session *session);

/* How long this generation certainly stays alive on the server if nothing more is heard. 0: it may
   be over now. */
int64_t zr_session_left_us(const struct zr_session *session, int generation);

/* The limit that an optional argument gives; without one, zr_session_patience_us. */
int64_t zr_session_limit_us(const struct zr_session *session, const struct zr_arg *limit);

/* How long a request with a limit of 0 waits for the answer of a connected server: as
   zr_session_patience_us, but at most a second if `request_timeout` is not set. */
int64_t zr_session_try_us(const struct zr_session *session);

/* True if the generation is the present one and its lease is not over: it is certainly alive on the
   server. */
bool zr_session_valid(const struct zr_session *session, int generation);

/* ZR_OK if it is valid; otherwise why not: as zr_session_usable, or ZR_LOST. */
enum zr_status zr_session_standing(const struct zr_session *session, int generation);

/*
 * The last moment at which the session's events are known to have come: what the server had told
 * until then was handled, and an answer to a request that was sent at that moment has come. Without
 * a connection, the moment before its loss. 0: there was none yet. Borrows nothing; takes messages
 * from the inbox, but handles none.
 */
int64_t zr_session_proof_us(struct zr_session *session);

/* True if an event, or the end of the connection, has come and is not handled yet. As above. */
bool zr_session_has_waiting(struct zr_session *session);

/* The engine calls this: a message came for one of its handles. */
void zr_session_notice(struct zr_generation *generation, struct zr_notice *notice);

/* The session's credentials (session_auth.c). learn, borrows: auth. Errors: ZR_NO_MEMORY. */
bool zr_session_knows_auth(const struct zr_session *session, const struct zr_auth *auth);
enum zr_status zr_session_learn_auth(struct zr_session *session, const struct zr_auth *auth);

/* Frees credentials and passwords: no handle will be opened any more. May be repeated. */
void zr_session_forget_secrets(struct zr_session *session);

/* Overwrites a credential that is about to be freed. */
void zr_forget_secret(struct zr_bytes secret);

/* A line for the log. */
struct zr_note {
    struct zr_link link;
    struct zr_session *session; /* counted */
    char level;                 /* 'E', 'W', 'I' */
    char text[];
};

/* gives: the next line for the log, or null. Freed with zr_note_free. */
struct zr_note *zr_engine_next_note(struct zr_engine *engine);
void zr_note_free(struct zr_note *note);

/* Adds a line; dropped when the session does not log, memory is exhausted, or 1000 lines wait. */
void zr_engine_note(struct zr_session *session, char level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Room for a tag, with its final 0. */
#define ZR_TAG sizeof("0123456789abcdef-18446744073709551615")

/* Writes "<id>-<number>": a part of a name that no other contender uses or has used. id: of the
   ZooKeeper session, the present one or an earlier one of this session. */
void zr_session_tag(struct zr_session *session, int64_t id, char tag[static ZR_TAG]);

/* True if the name begins with a tag of the present ZooKeeper session. */
bool zr_session_tagged(const struct zr_session *session, const char *name);

/* For the class of sessions. */
void zr_session_free(struct zr_object *object);

/* "connected" and so on. */
const char *zr_state_word(enum zr_state state);

#endif
