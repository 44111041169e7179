#ifndef ZR_QUEUE_H
#define ZR_QUEUE_H

/*
 * queue.h: what the files of this folder share; only for them. The layout of a queue on the servers
 * is described in lua/zkrecipes/recipes/queue/layout.lua, because claims and listings are still
 * written in Lua. Thread: the host's.
 */

#include "core/table.h"
#include "recipes/queue/names.h"
#include "recipes/znode.h"

struct zr_lane {
    struct zr_node node; /* in queue->lanes, by its name */
    int64_t tail;        /* the bucket that takes items; -1: not known */
    char *path;          /* the user's */
    char name[ZR_LANE_NAME];
};

struct zr_queue {
    struct zr_znode znode;
    struct zr_table lanes;
    int64_t bucket_size; /* items after which a bucket is sealed */
    int64_t capacity;    /* 0: none */
    int64_t credit;      /* items for which there is room, so that no server is asked */
    int64_t session_id;  /* the last one, for tags; 0: there was none yet */
    int64_t told_us;     /* when a server told its time last; -1: not yet */
    int64_t server_ms;   /* its time at that moment */
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

/* How long ago a server told its time; INT64_MAX: it did not yet. */
int64_t zr_queue_age_us(const struct zr_queue *queue);

/* gives: the path of the queue with the namespace and these two texts behind it, or null. */
char *zr_queue_full(const struct zr_queue *queue, const char *path, const char *more);

/* For steps: reads "<path><more>" (the user's path). */
void zr_queue_read(struct zr_task *task, enum zr_op op, const char *path, const char *more,
                   struct zr_next next);

/* ---- size.c -------------------------------------------------------------------------------- */

/* A task that may count items; first member of its struct. */
struct zr_queue_task {
    struct zr_znode_task znode_task;
    void (*counted)(struct zr_task *task); /* runs at the end; `sum` is the number of items */
    int64_t sum;
    int32_t out; /* the version of a lane's `out` */
    size_t lane_count, at;
    uint16_t *lanes; /* the priorities in use */
};

struct zr_queue *zr_queue_of(struct zr_task *task);
struct zr_queue_task *zr_queue_task_of(struct zr_task *task);

/* Step: counts the items of all lanes and the delayed ones, without the dead letters; then runs
   `counted`. */
void zr_count_items(struct zr_task *task, void (*counted)(struct zr_task *task));

/* Frees the task. */
void zr_queue_task_free(struct zr_task *task);

enum zr_status zr_queue_start_size(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task);
enum zr_status zr_queue_start_dead_size(struct zr_object *self, struct zr_args *args,
                                        struct zr_task **task);

/* ---- put.c --------------------------------------------------------------------------------- */

enum zr_status zr_queue_start_put(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task);
enum zr_status zr_queue_start_put_list(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task);
enum zr_status zr_queue_start_append(struct zr_object *self, struct zr_args *args,
                                     struct zr_task **task);
enum zr_status zr_queue_start_ask_time(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task);
extern const struct zr_option zr_append_options[];

/* What `append` takes. It moves an item, if `from` is its path; without a lane, it only ends it; or
   gives it back, if `put_count` is the path of its lane's `in`: unchanged, or with `text` as its
   data. */
struct zr_append_options {
    struct zr_bytes lane, id, tag, from, claim, out, put_count, text;
    int64_t priority, attempts, due, version;
    bool held;    /* the claim is ours, so it is deleted; otherwise the item must have no claim */
    bool once;    /* it is not sent again after a lost answer */
    bool doubted; /* it may have been done before, because an answer was lost */
    bool removed; /* the id's znode says so in place of the lane */
};

#endif
