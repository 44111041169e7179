#ifndef ZR_QUEUE_CLAIMS_H
#define ZR_QUEUE_CLAIMS_H

/*
 * claims.h: how a queue gives items; only for the files of this folder. wait.c has the callers that
 * wait, worker.c what gets items for them, by read_items.c, work.c and take.c, stock.c the items
 * that were claimed before a caller asked, claimed.c what becomes of a claimed item. consumer.c
 * decides when to look for items, look.c finds them, batch.c chooses among them, later.c moves
 * those that are due, attend.c tells others that this process is there, idle.c waits for new items,
 * and glance.c tells them from acks. Thread: the host's.
 */

#include "recipes/queue/queue.h"

/* ---- claimed.c: a claimed item ------------------------------------------------------------- */

enum zr_claim_state { ZR_CLAIM_LIVES, ZR_CLAIM_ACKED, ZR_CLAIM_NACKED, ZR_CLAIM_LOST };
enum { ZR_DOUBT_ACK, ZR_DOUBT_RETURN, ZR_DOUBT_MOVE, ZR_DOUBTS };

/* An item that this process wants, has, or had. */
struct zr_claim {
    struct zr_object object;
    struct zr_queue *queue; /* counted */
    struct zr_lane *lane;
    int64_t bucket;
    const char *name;           /* of the item; the end of `path` */
    const char *path, *claimed; /* of the item, and of its claim: the user's */
    char *data;                 /* what the znode holds, as it was read; ours */
    struct zr_entry entry;      /* ... */
    int32_t version;            /* of the znode */
    int generation;             /* of the session that has claimed it */
    enum zr_claim_state end;
    struct zr_node working_on; /* while a worker tries to get it */
    struct zr_call *read;      /* ... the read of the item; or null */
    struct zr_link in_stock;   /* stock.c: claimed in advance ... */
    int64_t kept_until_us;     /* ... */
    bool counted;              /* among the claims of the consumer */
    bool taken;                /* it is on no server any more */
    bool doubts[ZR_DOUBTS];    /* it may have been done: its answer was lost, or nobody waited */
    int64_t bucket_done;       /* taken: the bucket and the name of its tombstone; "": none */
    char done[ZR_ITEM_TAG + 32];
    struct zr_task task; /* lets it go */
    bool leaving;        /* ... */
    int64_t pause_us;    /* ... between two attempts */
    char *text;          /* ... what it holds then */
    size_t text_length;
    struct zr_errand errand;
    char room[]; /* the paths */
};

extern const struct zr_class zr_claim_class;

/* gives: null: memory is exhausted. */
struct zr_claim *zr_claim_new(struct zr_queue *queue, struct zr_lane *lane, int64_t bucket,
                              const char *name);

/* It is ours now: it counts until it ends. */
void zr_claim_count(struct zr_claim *claim);
void zr_claim_end(struct zr_claim *claim, enum zr_claim_state end); /* the first end counts */

/* let_go.c. No caller has it: it returns to its place, or, if it was taken, to its lane; the
   attempt does not count. In the background, until it is done or the session is over. Idempotent.
 */
void zr_claim_let_go(struct zr_claim *claim);

/* Emits the claim (null if it was taken), and what the item says; or only that, as fields of a
   table. */
void zr_claim_emit(struct zr_claim *claim, struct zr_sink *sink);
void zr_item_emit(const struct zr_claim *claim, struct zr_sink *sink);

/* Fills in what all moves of the item need. tag: room for ZR_ITEM_TAG bytes; out: for the path. */
struct zr_move_room {
    char tag[ZR_ITEM_TAG];
    char *paths;
};
enum zr_status zr_claim_move(const struct zr_claim *claim, struct zr_append_options *options,
                             struct zr_move_room *room);

/* ---- finish.c: ack and nack ---------------------------------------------------------------- */

enum zr_status zr_claim_start_ack(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task);
enum zr_status zr_claim_start_nack(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task);

/* For ack_all: prepares the put, which has been started, to ack this item; zr_put_check does it,
   and fails with a status of zr_was_faster if the claim is lost. Errors: ZR_NO_MEMORY. */
enum zr_status zr_claim_ack_by(struct zr_put *put, struct zr_claim *claim);

/* ack_all.c */
enum zr_status zr_queue_start_ack_all(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task);

/* ---- wait.c: callers that wait for an item ------------------------------------------------- */

struct zr_worker;
struct zr_waiter {
    struct zr_queue_task queue_task;
    struct zr_link in_line, in_tries; /* in_line: of the consumer, or of its worker */
    uint64_t ticket;                  /* its position in the line */
    bool takes;                       /* it does not claim */
    bool answered;
    struct zr_signal told;
    struct zr_worker *worker; /* that gets an item for it; or null */
    struct zr_claim *claim;   /* its item; counted; or null */
    enum zr_status answer;    /* why there is none */
    const char *why;          /* ... static; or null */
};

struct zr_waiter *zr_waiter_of(struct zr_task *task);

/* The line: first come, first served. push: at the end. put_back: to its old position. remove: also
   from its worker. */
void zr_line_push(struct zr_consumer *consumer, struct zr_waiter *waiter);
void zr_line_put_back(struct zr_consumer *consumer, struct zr_waiter *waiter);
void zr_line_remove(struct zr_consumer *consumer, struct zr_waiter *waiter);
struct zr_waiter *zr_line_first(const struct zr_consumer *consumer); /* or null */

/* Ends its wait. give, takes: a reference to the claim. */
void zr_waiter_give(struct zr_waiter *waiter, struct zr_claim *claim);
void zr_waiter_fail(struct zr_waiter *waiter, enum zr_status status, const char *why);

enum zr_status zr_queue_start_claim(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task);
enum zr_status zr_queue_start_take(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task);

/* ---- worker.c: gets items for callers; read_items.c reads them, work.c claims them, take.c takes
 * one ----------------- */

struct zr_worker {
    struct zr_queue_task queue_task;
    struct zr_list waiters; /* struct zr_waiter, by in_line: the callers */
    bool takes;
    size_t most;            /* items that it gets, at most */
    size_t spare;           /* ... so many of them for the stock */
    uint64_t drops;         /* of the stock, when it began */
    size_t count, got;      /* the items; the first of them that are ours */
    size_t at;              /* the item that is looked at */
    size_t reading;         /* ... reads whose answers are still to come */
    struct zr_signal read;  /* ... the last one has come */
    size_t to;              /* work.c: the transaction claims the items from `got` up to this one */
    size_t refused;         /* ... the part for which it was refused */
    enum zr_status refusal; /* ... why */
    bool doubted;           /* ... an answer was lost, perhaps of an earlier transaction */
    int generation;         /* of the session in which it claims */
    char tag[ZR_TAG];       /* of this transaction */
    struct zr_transaction transaction;
    char *asked; /* the path of `transaction` */
    struct zr_errand errand;
    enum zr_status failure;    /* why it ends without an item; or ZR_OK */
    bool final;                /* the caller is told of the failure in any case */
    const char *why;           /* ... static; or null */
    struct zr_claim *claims[]; /* each counted */
};

struct zr_worker *zr_worker_of(struct zr_task *task);

extern const struct zr_task_kind zr_worker_kind;

/* Takes the next items of the batch. Errors: ZR_NO_MEMORY, and then there is none. */
enum zr_status zr_work_fill(struct zr_worker *worker, struct zr_queue *queue, size_t most);

/* workers.c. Starts workers for callers in the line, and for the stock, as long as the batch has
   items. If one cannot be started, a caller is told. */
void zr_work(struct zr_queue *queue);

/* An item is not ours, and will not be. */
void zr_work_drop(struct zr_worker *worker, size_t at);

/* The items from worker->at on are for later callers: gives them back to the batch, from which
   nothing more is claimed in advance. */
void zr_work_cut(struct zr_worker *worker);

/* For steps. begin: it has items. claim: it has read them, and claims those that are not ours yet.
   more: it has none, and looks for others. item_failed: that at worker->at cannot be had, and one
   caller is told why; if the session has no permission, only the first time. */
void zr_work_begin(struct zr_task *task);
void zr_work_claim(struct zr_task *task);
void zr_work_more(struct zr_task *task);
void zr_work_item_failed(struct zr_task *task, enum zr_status status);
void zr_work_failed(struct zr_task *task, enum zr_status status);
void zr_work_end(struct zr_task *task);
/* True if another process has moved, claimed or deleted the item since it was read. */
bool zr_was_faster(enum zr_status status);

/* take.c. Step: takes the item that was read. */
void zr_take_item(struct zr_task *task);

/* ---- room.c: how many claims are allowed --------------------------------------------------- */

#define ZR_CLAIMS_MAX 5000 /* of one path, in one session; waiting calls included */

/* join: a new handle. Errors: ZR_NO_MEMORY. part: it is freed. */
enum zr_status zr_room_join(struct zr_queue *queue);
void zr_room_part(struct zr_queue *queue);

/* used: by all handles of the path. for_stock: how many more there may be, also for their bytes. */
size_t zr_room_used(const struct zr_queue *queue);
size_t zr_room_for_stock(const struct zr_queue *queue);

/* ---- stock.c: items that were claimed before a caller asked for them ------------------------ */

/* How many items it needs, besides those that are coming. */
size_t zr_stock_room(const struct zr_queue *queue);
bool zr_stock_is_low(const struct zr_queue *queue);
/* takes: a reference, if it returns true; false: there is no room. */
bool zr_stock_add(struct zr_claim *claim);
/* gives: a reference; null: there is none that is surely still ours. */
struct zr_claim *zr_stock_take(struct zr_queue *queue);
/* Lets all of them go. */
void zr_stock_drop(struct zr_queue *queue);

/* ---- attend.c ---------------------------------------------------------------------------- */

/* For a task: makes sure that this process has a znode in `consumers`, in the present session. Then
   runs `then`, or the verb fails. */
void zr_attend_ensure(struct zr_task *task, void (*then)(struct zr_task *task));
/* A claim was refused because a znode is missing, perhaps ours: looks, then runs `then`. */
void zr_attend_check(struct zr_task *task, void (*then)(struct zr_task *task));
/* Counts the consumers, unless that was done a short time ago; then runs `then`. */
void zr_attend_rank(struct zr_task *task, void (*then)(struct zr_task *task));
/* Nothing in the process needs the queue any more. */
void zr_attend_forget(struct zr_object *self);
/* Deletes the znode if nothing needs it. */
void zr_attend_leave_if_unused(struct zr_queue *queue);

/* ---- consumer.c ---------------------------------------------------------------------------- */

void zr_consumer_init(struct zr_queue *queue, int64_t attempts, int64_t prefetch);
void zr_consumer_fini(struct zr_queue *queue);

/* Makes sure that items are looked for while callers wait. Errors: why the session cannot be
   used. */
enum zr_status zr_consumer_serve(struct zr_queue *queue);

/* Items cannot be waited for: tells all callers in the line. */
void zr_consumer_fail(struct zr_queue *queue, enum zr_status status);

/* Something has changed: looks again. */
void zr_consumer_happened(struct zr_queue *queue);

/* Something may have come into a last bucket. */
void zr_consumer_stirred(struct zr_queue *queue);

/* An item was put into this lane by this process: lists again if it is ahead of those that are
   listed. */
void zr_consumer_put(struct zr_queue *queue, const struct zr_lane *lane);

/* An item of this process came back to the queue. It is ahead of those that are listed. */
void zr_consumer_came_back(struct zr_queue *queue);

/* ---- look.c, look_lanes.c, batch.c: finding items ------------------------------------------ */

/* Lists: then runs look->found, with a new batch, perhaps an empty one. */
void zr_search_begin(struct zr_search *look, struct zr_task *task);
struct zr_search *zr_search_of(struct zr_task *task);
void zr_search_fini(struct zr_search *look);

/* For steps. lane: looks into this lane; then into the next ones, if there is no item. next_lane:
   look->queue_task.at says which. answered: true if the read succeeded, or found nothing. Otherwise
   the verb fails. */
void zr_search_lane(struct zr_task *task, struct zr_lane *lane);
void zr_search_next_lane(struct zr_task *task);
bool zr_search_answered(struct zr_task *task);

/* Takes the names out of the answer that the task has got. */
struct zr_names *zr_take_names(struct zr_task *task);

/* Takes the items out of a listing, in their order: null, if memory is exhausted; ends with null.
   delayed: of delayed items. */
char **zr_items_in_order(const struct zr_queue *queue, const struct zr_names *names, bool delayed,
                         size_t *count);
/* The priorities of a listing of the lanes, in order: lanes->lanes, which must be null, and
   lane_count, which must be 0. Errors: ZR_NO_MEMORY. */
enum zr_status zr_lanes_in_order(struct zr_queue_task *lanes, const struct zr_names *names);
/* The numbers of the buckets in a listing, in order, in the same way. */
int64_t *zr_buckets_in_order(const struct zr_names *names, size_t *count);

/* Leaves out items that are claimed, are being claimed, or cannot be read. Errors:
   ZR_NO_MEMORY. */
enum zr_status zr_batch_filter(struct zr_search *look);
/* Keeps our share. */
void zr_batch_share(struct zr_search *look);
/* The look's items are the batch of the consumer. */
void zr_batch_adopt(struct zr_search *look);
void zr_batch_clear(struct zr_batch *batch);
/* True if the batch of the consumer has another item, and is not too old. */
bool zr_batch_has_next(const struct zr_queue *queue);
/* The item is unreadable: later listings leave it out as long as its znode exists. Errors:
   ZR_NO_MEMORY. */
enum zr_status zr_leave_out(const struct zr_claim *claim);
/* The session may not read the znode, or may not move it: leaves it out for a minute. True the
   first time: then the log says so. An empty name: the bucket. */
bool zr_forbid(struct zr_queue *queue, struct zr_lane *lane, int64_t bucket, const char *name);
/* A bucket was listed: forgets those of its unreadable items that are gone. */
void zr_unreadable_prune(struct zr_consumer *consumer, const struct zr_batch *batch);
void zr_unreadable_clear(struct zr_queue *queue);

/* ---- later.c ------------------------------------------------------------------------------- */

/* Moves the items that are due into their lanes, then runs `then`. */
void zr_later_look(struct zr_task *task, void (*then)(struct zr_task *task));

/* ---- idle.c -------------------------------------------------------------------------------- */

/* Begins to acquire the idle lock, unless this process has it. */
void zr_idle_acquire(struct zr_queue *queue);
bool zr_idle_holds(const struct zr_queue *queue);
/* Lets go of the lock and the watches. */
void zr_idle_end(struct zr_queue *queue);
void zr_idle_fini(struct zr_queue *queue);

/* Stops watching; idempotent. */
void zr_lookout_part(struct zr_lookout *lookout);

/* Reads what is to be watched, and leaves a watch if there is none; then runs `then`. */
void zr_lookout_read(struct zr_task *task, struct zr_lookout *lookout, enum zr_op op,
                     const char *path, const char *more, struct zr_next next);

/* ---- glance.c ------------------------------------------------------------------------------ */

/* For steps. list: lists the lane's last bucket, and leaves a watch. listed, behind it: true if
   znodes were created in it since it was listed before. */
void zr_newest_list(struct zr_task *task, struct zr_lane *lane, int64_t bucket,
                    struct zr_next next);
bool zr_newest_listed(struct zr_task *task, struct zr_lane *lane);

/* Step: watches on last buckets are used up. Notes an event if znodes were created there, sets the
   watches again, then runs `then`. */
void zr_glance(struct zr_task *task, void (*then)(struct zr_task *task));

/* ---- remove.c, redrive.c ------------------------------------------------------------------- */

enum zr_status zr_queue_start_remove(struct zr_object *self, struct zr_args *args,
                                     struct zr_task **task);
enum zr_status zr_queue_start_redrive(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task);

/* ---- peek.c, walk.c ------------------------------------------------------------------------ */

enum zr_status zr_queue_start_peek(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task);
/* walk([any value: the dead letters]) */
enum zr_status zr_queue_make_walk(struct zr_object *self, struct zr_args *args,
                                  struct zr_object **object);

#endif
