#ifndef ZR_QUEUE_TIDY_H
#define ZR_QUEUE_TIDY_H

/*
 * tidy.h: the task that removes old tombstones; only for tidy.c, which walks through their buckets,
 * and tombstones.c, which removes some of a bucket. Thread: the host's.
 */

#include "recipes/queue/claims.h"

#define ZR_TOMBSTONES 100 /* that one transaction removes */

/* What one tombstone needs. */
struct zr_tombstone {
    struct zr_call *read;
    char *path, *id; /* the user's paths, of the tombstone and of its id; ours */
};

struct zr_tidy {
    struct zr_queue_task queue_task;
    struct zr_lane *done;
    int64_t *buckets; /* as listed; ours */
    size_t bucket_count, bucket_at;
    struct zr_names *names; /* of one bucket; ours */
    char **items;           /* in order; ours */
    size_t item_count, item_at;
    bool sealed, young; /* the bucket; one of the tombstones */
    struct zr_tombstone at[ZR_TOMBSTONES];
    size_t count, each; /* of them; which one is deleted alone */
    size_t missing;     /* reads that are still out */
    struct zr_signal all_read;
};

struct zr_tidy *zr_tidy_of(struct zr_task *task);

/* tombstones.c. Step: reads the next items, removes those that are old tombstones, and goes on with
   zr_tidy_next; or ends the task. The server's time is known. */
void zr_tombstones_read(struct zr_task *task);
void zr_tombstones_forget(struct zr_tidy *tidy);

/* tidy.c. Step: goes on with the next items. */
void zr_tidy_next(struct zr_task *task);

#endif
