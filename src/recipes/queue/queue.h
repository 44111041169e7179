#ifndef ZR_QUEUE_H
#define ZR_QUEUE_H

/*
 * queue.h: what the files of this folder share; only for them. names.h: what is where on the
 * servers, put.h: how items are put, claims.h: how they are given, simple.h: the simple format.
 * Thread: the host's.
 */

#include "core/table.h"
#include "core/watch.h"
#include "recipes/queue/names.h"
#include "recipes/znode.h"

/* A path whose events wake the consumer of a queue. */
struct zr_lookout {
    struct zr_follower follower;
    struct zr_queue *queue;
    bool stands; /* a watch was left, and no event came since */
    bool glance; /* an event only says that there may be something (glance.c) */
};

struct zr_lane {
    struct zr_node node;    /* in queue->lanes, by its name */
    int64_t tail;           /* the bucket that takes items; -1: not known */
    int64_t last;           /* plain.c: the largest number in it that is known; -1: none */
    size_t flight;          /* ... items that were sent there, and are not answered yet */
    uint64_t epoch;         /* ... how often the tail has changed */
    struct zr_signal moved; /* ... it has changed, or no item is in flight any more */
    int64_t *buckets;       /* as listed last, without those that we have deleted */
    size_t bucket_count;
    struct zr_lookout in;     /* what comes into the lane, but by plain creates */
    struct zr_lookout newest; /* glance.c: those: the children of its last bucket ... */
    int64_t watched, creates; /* ... its number; how many znodes were ever created in it */
    char *path;               /* the user's */
    char name[ZR_LANE_NAME];
};

/* Items of one bucket. */
struct zr_batch {
    struct zr_lane *lane;
    int64_t bucket;
    struct zr_names *names; /* their block */
    char **at;              /* in order; ours */
    size_t count, next;
    bool own; /* they are our share, and some may be claimed in advance */
};

/* A task that may count items; first member of its struct. */
struct zr_queue_task {
    struct zr_znode_task znode_task;
    void (*counted)(struct zr_task *task); /* runs at the end; `sum` is the number of items */
    void (*then)(struct zr_task *task);    /* attend.c: what comes next */
    int64_t sum;
    int32_t out; /* the version of a lane's `out` */
    size_t lane_count, at;
    uint16_t *lanes;          /* the priorities in use */
    struct zr_census *census; /* census.c: of one of these lanes; or null */
};

struct zr_append_options;
struct zr_put;

/* A move that runs in the background, for a task that waits for its end. */
struct zr_errand {
    struct zr_queue *queue; /* borrowed */
    struct zr_put *put;     /* null: none runs */
    struct zr_signal over;
    enum zr_status status; /* how it has ended */
    int64_t bucket;        /* of the new znode, and its name; "": not known */
    char created[ZR_ITEM_TAG + 32];
};

/* Finds items. */
struct zr_search {
    struct zr_queue_task queue_task;
    void (*found)(struct zr_task *task); /* what comes at the end */
    struct zr_lane *lane;                /* that is looked at */
    bool watches;                        /* its reads leave watches */
    bool relisted;                       /* the buckets of the lane */
    int64_t after;                       /* the bucket that was looked at last; -1: none */
    bool sealed, empty;                  /* this bucket: it takes no items; it has none */
    struct zr_batch batch;
    struct zr_names *claimed; /* the names of all claims, sorted; null: not read yet */
    /* later.c: */
    void (*timely)(struct zr_task *task); /* what comes at its end */
    bool stuck;                           /* an item that is due could not be moved */
    int64_t now_ms, slot;
    int64_t *slots;
    size_t slot_count, slot_at;
    int32_t puts;
    struct zr_names *due;
    char **due_at;
    size_t due_count, due_next;
    struct zr_claim *mover; /* the item that is due; counted */
    struct zr_errand errand;
};

/* What the callers of this process share that want items of one queue. */
struct zr_consumer {
    int64_t attempts;
    struct zr_list line, tries; /* struct zr_waiter; tries: those that only try */
    uint64_t tickets;
    struct zr_waiter *last_back;     /* that came back to the line last, if it is still there */
    size_t waiting, claims;          /* callers in the line; claims that have not ended */
    size_t workers, working, coming; /* worker.c: that claim; items that workers try to get; those
                                        that are for the stock */
    int64_t missing;                 /* takes whose item may be gone */

    struct zr_table working_on; /* struct zr_claim, by its path: a worker tries to get it */
    struct zr_list unreadable;
    struct zr_batch batch;
    int64_t fresh_until_us;        /* the batch is used */
    uint64_t events, looked, seen; /* how many there were: now, before the last look, before the
                                      look that runs */
    struct zr_search look;
    bool running, asking;                  /* the look's task; it waits for an answer */
    bool stirred;                          /* glance.c: a watch on a last bucket was used up */
    int64_t glance_at_us;                  /* ... not before, the bucket is listed */
    void (*glanced)(struct zr_task *task); /* ... what comes then */
    uint64_t glanced_for;                  /* ... and for whom: callers with this ticket or less */
    struct zr_signal work;

    /* stock.c */
    size_t prefetch, depth; /* items in the stock at most; and at most now */
    struct zr_list stock;   /* struct zr_claim; each counted */
    size_t stock_count;
    uint64_t drops; /* how often all items were let go */
    struct zr_timer stale;

    /* attend.c */
    char *presence;      /* the user's path of our znode */
    int64_t presence_id; /* the session that it is for */
    bool present, forgotten, farewell_runs;
    int64_t ranked_until_us;
    size_t count, rank; /* of consumers; which one we are */
    struct zr_task farewell;
    int64_t farewell_pause_us;

    /* later.c */
    bool later_known;
    bool later_looked;   /* the last look at it has ended well */
    int32_t later_seen;  /* the version of its `in` */
    int64_t next_due_ms; /* 0: no item */

    /* idle.c */
    struct zr_contest *seat;   /* made when it is needed */
    struct zr_hold *acquiring; /* its task runs */
    struct zr_hold *hold;      /* counted */
    bool watching;             /* we have, or had, the lock since the last look began */
    struct zr_lookout lanes, later, consumers;
    struct zr_timer due, rest, calm;
};

struct zr_queue {
    struct zr_znode znode;
    struct zr_queue_room *room; /* room.c: shared by the handles of the path ... */
    struct zr_link in_room;     /* ... */
    struct zr_table lanes;
    struct zr_consumer consumer;
    int64_t bucket_size;   /* items after which a bucket is sealed */
    int64_t capacity;      /* 0: none */
    int64_t credit;        /* items for which there is room, so that no server is asked */
    int64_t full_until_us; /* ... or a count has just shown that there is no room */
    int64_t session_id;    /* the last one, for tags; 0: there was none yet */
    int64_t told_us;       /* when a server told its time last; -1: not yet */
    int64_t server_ms;     /* its time at that moment */
    int64_t tidy_at_us;    /* not before, old tombstones are removed again */
};

extern const struct zr_class zr_queue_class;

/* ---- queue.c ------------------------------------------------------------------------------- */

/* The lane with this name, made if it is new; null: memory is exhausted. Lives as long as the
   queue. */
struct zr_lane *zr_queue_lane(struct zr_queue *queue, const char *name);

/* The server's clock, in milliseconds: from the mtime of a write that was just answered; and now.
   The time must have been told. */
void zr_queue_tell(struct zr_queue *queue, int64_t mtime_ms);
int64_t zr_queue_now_ms(const struct zr_queue *queue);

/* Asks a server for its time, by a write of the data that the queue's znode has already. The next
   step tells the queue. */
void zr_queue_ask_time(struct zr_task *task, struct zr_next next);

/* How long ago a server told its time; INT64_MAX: it did not yet. */
int64_t zr_queue_age_us(const struct zr_queue *queue);

/* gives: the path of the queue with the namespace and these two texts behind it, or null. */
char *zr_queue_full(const struct zr_queue *queue, const char *path, const char *more);

/* For steps: reads "<path><more>" (the user's path). */
void zr_queue_read(struct zr_task *task, enum zr_op op, const char *path, const char *more,
                   struct zr_next next);

/* ---- size.c -------------------------------------------------------------------------------- */

struct zr_queue *zr_queue_of(struct zr_task *task);
struct zr_queue_task *zr_queue_task_of(struct zr_task *task);

/* Step: counts the items of all lanes and the delayed ones, without the dead letters; then runs
   `counted`. */
void zr_count_items(struct zr_task *task, void (*counted)(struct zr_task *task));

/* Step: this lane is counted. */
void zr_count_next_lane(struct zr_task *task);

/* census.c. Step: adds the items of this lane to `sum`, then runs zr_count_next_lane. */
void zr_census_take(struct zr_task *task, struct zr_lane *lane);
void zr_census_free(struct zr_census *census); /* or null */

/* Frees the task. */
void zr_queue_task_free(struct zr_task *task);

enum zr_status zr_queue_start_size(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task);
enum zr_status zr_queue_start_dead_size(struct zr_object *self, struct zr_args *args,
                                        struct zr_task **task);

/* ---- start.c, put_all.c -------------------------------------------------------------------- */

enum zr_status zr_queue_start_put(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task);
enum zr_status zr_queue_start_put_all(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task);

/* What a move takes. It moves an item, if `from` is its path; without a lane, it only ends it; or
   gives it back, if `put_count` is the path of its lane's `in`: unchanged, or with `text` as its
   data. */
struct zr_append_options {
    struct zr_bytes lane, id, tag, from, claim, out, put_count, text;
    int64_t priority, attempts, due, version;
    int64_t delay_us; /* not 0: it is moved to the delayed items */
    bool held;    /* the claim is ours, so it is deleted; otherwise the item must have no claim */
    bool once;    /* it is not sent again after a lost answer */
    bool doubted; /* it may have been done before, because an answer was lost */
    bool removed; /* the id's znode says so in place of the lane */
};

/* ---- tidy.c -------------------------------------------------------------------------------- */

/* Removes old tombstones in the background, unless that was begun a short time ago. */
void zr_queue_tidy(struct zr_queue *queue);

/* ---- Errands ------------------------------------------------------------------------------- */

/* For steps: moves, gives back or ends an item in the background; the next step finds the outcome
   in errand->status. Errors, and then the verb has not begun: ZR_NO_MEMORY, or why the session
   cannot be used. keeps: errand, whose queue is set. */
enum zr_status zr_errand_run(struct zr_errand *errand, struct zr_task *task,
                             const struct zr_append_options *options, struct zr_bytes data,
                             struct zr_next next);
void zr_errand_over(struct zr_errand *errand, enum zr_status status); /* for the put */
/* Nobody waits for it any more; it goes on. */
void zr_errand_fini(struct zr_errand *errand);

#endif
