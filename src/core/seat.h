#ifndef ZR_SEAT_H
#define ZR_SEAT_H

/*
 * seat.h: a place in a queue of contenders: an ephemeral sequential node of this session, from the
 * moment its create is sent until it is certainly gone. A seat without a stem is not in a queue: it
 * is the ephemeral node `dir` itself, and its name does not tell which session owns it.
 * Thread: the host's.
 */

#include "core/call.h"
#include "core/seats.h"
#include "core/session.h"

enum zr_seat_state {
    ZR_SEAT_NONE,       /* there is certainly no node */
    ZR_SEAT_CONTENDING, /* the create is out */
    ZR_SEAT_UNSURE,     /* its answer was lost: the node may be there */
    ZR_SEAT_TAKEN,      /* the node is there, and ours */
};

struct zr_seat {
    struct zr_session *session;
    enum zr_seat_state state;
    int generation;                  /* of the session, when the create was sent */
    enum zr_status refused : 8;      /* why the last create was refused; ZR_OK: it was not */
    bool leaving;                    /* see `task` */
    bool counted;                    /* see ephemerals.h */
    bool announces;                  /* the recipe's: its end is to be announced (announce.h) ... */
    bool one_follows;                /* ... unless a contender of this session waits for it */
    uint8_t refusals;                /* of its removal, in a row */
    const char *dir;                 /* with the namespace; borrowed while the seat lives */
    const struct zr_stem *stem;      /* of the node's name; null: the node is `dir` itself */
    const char *note;                /* the recipe's, in the name before the stem; borrowed while
                                        the seat lives; null: none */
    struct zr_bytes data;            /* of the node; borrowed while the seat lives */
    const struct zr_bytes *dir_data; /* borrowed: if the directory is missing, contend makes a
                                        plain node with these data; null: a container */
    char *path;                      /* the node; while contending: all but its number */
    size_t prefix;                   /* length of the path without the number */
    int64_t czxid;                   /* of the node: the fencing token */
    int64_t sequence;                /* -1: not usable as a number */
    struct zr_call *call;            /* while contending: the create; while it is looked for:
                                        the sync before that */
    struct zr_task *task;            /* woken when the create has failed or is unsure;
                                        with `leaving` also when the seat is taken */
    void (*after)(struct zr_task *task); /* where vacate returns to */
    struct zr_node in_session;
    int64_t word;          /* set by the recipe: what the node says to waiters of this session */
    struct zr_signal gone; /* fires when the node is certainly gone; only await_gone and await_free
                              wait for it; they find the seat's last word in task->word */
};

/* Must be followed by fini. keeps: dir, stem, data. */
void zr_seat_init(struct zr_seat *seat, struct zr_session *session, const char *dir,
                  const struct zr_stem *stem, struct zr_bytes data);
void zr_seat_fini(struct zr_seat *seat);

/*
 * Sends the create of a node whose name carries a new tag: session id and counter. The session
 * is connected and the seat is empty. Errors: ZR_NO_MEMORY, ZR_TOO_LARGE,
 * ZR_FULL.
 */
enum zr_status zr_seat_create(struct zr_seat *seat, struct zr_task *task);

/* These decide whether an unsure seat is taken or empty. After the reconnect, vacate.c has sent a
   sync, and then read what they need. */

/* Sets the seat's path to the next child, by number, whose name could be ours; it comes after the
   one that the path names now. False: there is none. */
bool zr_seat_guess(struct zr_seat *seat, const struct zr_names *names);

/* True if the node with this stat is ours: our session owns it, and it has not been replaced since
   we last saw it. */
bool zr_seat_owns(const struct zr_seat *seat, const struct zr_stat *stat);

/* The node at its path is ours: the seat becomes TAKEN. Errors: ZR_NO_MEMORY, still UNSURE. */
enum zr_status zr_seat_settle(struct zr_seat *seat, const struct zr_stat *stat);

/* The node is gone, or its session is. */
void zr_seat_gone(struct zr_seat *seat);

/* Sets the seat's word. Each task of this session that waits for the seat checks whether this word
   is enough. (Waiters in other sessions read the node.) */
void zr_seat_say(struct zr_seat *seat, int64_t word);

/* True if its session is closed, or has been replaced by a new one: the node is gone in any
   case. */
bool zr_seat_over(const struct zr_seat *seat);

/* Its index in a listing, or -1 when it is not there. */
int64_t zr_seat_index(const struct zr_seat *seat, const struct zr_seats *seats);

/* The seat of this session whose node this is, or null. A seat without a stem counts from the
   moment its create is sent. */
struct zr_seat *zr_seat_find(const struct zr_session *session, const char *path);

#endif
