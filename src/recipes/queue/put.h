#ifndef ZR_QUEUE_PUT_H
#define ZR_QUEUE_PUT_H

/*
 * put.h: a task that puts items into a lane, all or none; only for the files of this folder.
 * start.c has the method, put_new.c makes the task, put.c has the first steps and capacity.c the
 * capacity; plain.c creates one item, append.c sends the transaction of parts.c; make.c makes what
 * they need on the servers, known_id.c knows ids, and next_bucket.c begins a new bucket. put_all.c
 * and ack_all.c use one such task for several requests, one after the other. Thread: the host's.
 */

#include "recipes/queue/queue.h"

/* An item as the user describes it. */
struct zr_put_item {
    struct zr_bytes data, id; /* id: at: null: none */
    int64_t priority;
    int64_t delay_us, timeout_us; /* -1: none */
};

struct zr_put {
    struct zr_queue_task queue_task;
    void (*then)(struct zr_task *task); /* what comes when it is put; null: the end of the task */
    void *block;                        /* of zr_put_renew: the memory for what is put; or null */

    /* What is put. */
    size_t count;             /* of items */
    struct zr_bytes *entries; /* what each znode will hold */
    size_t largest;           /* bytes of data of the largest item */
    int64_t priority;
    int64_t delay_us; /* 0: none */
    int64_t due_ms;   /* 0: it is not delayed, or the server's time is not known yet */
    struct zr_lane *lane;
    char tag[ZR_ITEM_TAG]; /* of the first item; those of the others differ in one number */
    int64_t tagged;        /* ... the session in it */
    uint64_t number;       /* ... the number in it; 0: a move */
    char *id_path;         /* "/ids/2f/resize-17"; null: no id */
    size_t id_folder;      /* how many bytes of it name its folder */
    bool id_there;         /* the znode of the id exists: it is set, not created */
    char *tombstone;       /* the user's path: it is deleted in the same transaction; or null */
    int64_t alone;         /* known_id.c: mzxid of the id's znode when no tombstone was there */
    int64_t said_zxid;     /* ... when it was read last */
    int64_t said_ms;       /* ... its mtime then */
    char *said;            /* ... room for the texts of `place`; null: no id */
    struct zr_place place;

    /* A move. The texts are the user's paths. */
    struct zr_bytes from, claim, out; /* of the item, its claim, its lane's `out`; at: null: none */
    struct zr_bytes put_count;        /* of its lane's `in`, if it is given back */
    struct zr_bytes text;             /* what it holds then; at: null: the same as before */
    int32_t version;                  /* of the item */
    bool held, once, removed;
    bool doubted; /* an answer was lost */

    /* Where it is. */
    int64_t limit_us;    /* that the caller has given, or -1 */
    int64_t deadline_us; /* ... on the clock of the engine */
    int64_t pause_us;    /* between two looks for room */
    bool limited;        /* it needs room */
    bool full;           /* it waits for room */
    bool was_known;      /* the id is known, so nothing was put */
    int64_t bucket;
    int missing;              /* how often something was missing */
    int rounds;               /* how often the id was looked at */
    int making;               /* make.c: how far it has come */
    struct zr_errand *errand; /* that waits for its end; or null */
    struct zr_claim *ended;   /* finish.c: that it ends; counted; or null */
    size_t first_part;        /* append.c: which part of the transaction is the first item */
    bool plain;               /* plain.c: it was sent as creates */
    bool flies;               /* ... counted in the lane's `flight` ... */
    uint64_t epoch;           /* ... at this epoch of the lane */
    int64_t voided_bucket;    /* ... the bucket and the name of a void znode of it; "": none */
    char voided[ZR_ITEM_TAG + 32];
    void (*made)(struct zr_task *task); /* ... what to do then */
    void (*told)(struct zr_task *task);
    char *asked;                    /* the path of `transaction` */
    char created[ZR_ITEM_TAG + 32]; /* the name of the znode that was put last; "": none */
    struct zr_transaction transaction;
};

struct zr_put *zr_put_of(struct zr_task *task);

/* put_new.c. new, new_move, give: a task that puts an item; that moves or ends one. start:
   limit_us: that of the caller; -1: none. run: starts it at zr_put_check, without such a limit.
   keeps: subject, for messages. */
enum zr_status zr_put_new(struct zr_object *queue, const struct zr_put_item *item,
                          struct zr_put **put);
enum zr_status zr_put_new_move(struct zr_object *queue, const struct zr_append_options *options,
                               struct zr_bytes data, struct zr_put **put);
void zr_put_start(struct zr_put *put, const struct zr_task_kind *kind, int64_t limit_us,
                  struct zr_next first);
void zr_put_run(struct zr_put *put, const struct zr_task_kind *kind, const char *subject);

/* For a task that begins with a struct zr_put and has been started: what it puts next, or what it
   moves or ends, when nothing of it is in flight; then zr_put_check is the step. Errors:
   ZR_NO_MEMORY. borrow: items, options, data. */
enum zr_status zr_put_renew(struct zr_put *put, const struct zr_put_item *items, size_t count);
enum zr_status zr_put_renew_move(struct zr_put *put, const struct zr_append_options *options,
                                 struct zr_bytes data);

/* For other kinds of such a task. */
bool zr_put_asking(const struct zr_task *task);
void zr_put_clean(struct zr_task *task);
void zr_put_free(struct zr_task *task);

/* put.c. Writes the tag of this item into `tag`, of ZR_ITEM_TAG bytes. Not for a move. */
void zr_put_tag(const struct zr_put *put, size_t item, char *tag);

/* Steps. check: the first one. choose: chooses the lane, and appends. append: sends the
   transaction. end: the last one: it is put. */
void zr_put_check(struct zr_task *task);
void zr_put_choose(struct zr_task *task);
void zr_put_append(struct zr_task *task);
void zr_put_end(struct zr_task *task);

/* plain.c. is_plain: creates are enough. gives: these. create_answered: the step behind them. */
bool zr_put_is_plain(const struct zr_put *put);
enum zr_status zr_put_new_creates(struct zr_put *put, struct zr_call **call);
/* Its items are in flight, until end_flight (idempotent). */
void zr_put_start_flight(struct zr_put *put);
void zr_put_end_flight(struct zr_put *put);
void zr_put_create_answered(struct zr_task *task);
/* False: with the creates in flight, so many more would go beyond the size of the last bucket. */
bool zr_lane_has_room(const struct zr_queue *queue, const struct zr_lane *lane, size_t count);
/* A znode of the bucket has this number: begins the next bucket if this one is full. */
void zr_lane_filled(struct zr_queue *queue, struct zr_lane *lane, int64_t bucket, int64_t number);
void zr_lane_set_tail(struct zr_lane *lane, int64_t number); /* -1: not known */

/* append.c. Step: the bucket does not exist: finds out what to do, and puts again. */
#define ZR_MISSING_MAX 5
void zr_put_bucket_missing(struct zr_task *task);

/* start.c. False, and misuse of this argument, if a value of the item is out of range. where: for
   the message: "entry 3, ". */
bool zr_put_accepts(struct zr_args *args, int argument, const char *where,
                    const struct zr_put_item *item);
/* Of struct zr_put_item. put_all.c has the second list. */
extern const struct zr_option zr_put_options[], zr_put_all_options[];

/* parts.c. gives: the transaction. */
enum zr_status zr_put_new_multi(struct zr_put *put, struct zr_call **call);
/* True if its first part checks that the bucket is not sealed. */
bool zr_put_may_be_sealed(const struct zr_put *put);

/* capacity.c: waits for room, then puts as many items as there is room for, at least one. */
void zr_put_find_room(struct zr_task *task);
void zr_put_wait_for_room(struct zr_task *task); /* there is none now */
void zr_put_explain_full(struct zr_task *task);

/* known_id.c: ends the task if the id is known; otherwise appends, or waits for room if the queue
   is full. */
void zr_put_look_at_id(struct zr_task *task);
/* True if the id's znode says that it is the item with our tag. */
bool zr_put_says_ours(struct zr_put *put, struct zr_bytes said);

/* make.c: learns the lane's tail, then appends. */
void zr_put_find_tail(struct zr_task *task);
/* Makes the directories, then runs `made`. */
void zr_put_make(struct zr_task *task, void (*made)(struct zr_task *task));
/* Makes the bucket of delayed items, or the folder of the id; then appends. */
void zr_put_make_slot(struct zr_task *task);
void zr_put_make_folder(struct zr_task *task);
/* Asks a server for its time, by a write that changes nothing, then runs `told`. */
void zr_put_ask_time(struct zr_task *task, void (*told)(struct zr_task *task));

/* next_bucket.c: seals the bucket of this number, and makes the next one, in the background. */
void zr_lane_roll(struct zr_queue *queue, struct zr_lane *lane, int64_t number);

#endif
