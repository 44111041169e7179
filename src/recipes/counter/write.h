#ifndef ZR_WRITE_H
#define ZR_WRITE_H

/*
 * write.h: a task that writes to a counter. change.c decides what it writes; write.c and
 * write_once.c do it exactly once. Only for those. Thread: the host's.
 */

#include "recipes/counter/counter.h"

struct zr_write {
    struct zr_znode_task znode_task;
    zr_step *decide;  /* ends with zr_write_value, zr_write_refresh, zr_write_finish or a failure */
    int64_t amount;   /* to add, or the new value */
    int64_t expected; /* of compare_and_set */
    int64_t value;    /* that is written; or that the counter has, if it is not the expected one */
    bool differs;     /* it is not the expected one */
    bool fresh;       /* the next read shows a state of a time during this call */
    bool raw;         /* the new data and the znode's data need not be numbers */
    bool existing;    /* a missing znode is not created */
    /* of those two: */
    bool doubted;         /* an answer was lost, and the multi may be done late */
    bool gone;            /* the mark was gone when we asked it */
    bool beaten;          /* the multi was refused since the counter has another version */
    struct zr_stat stat;  /* of the counter, if its write was answered */
    uint16_t connections; /* of the session, when a sync was answered */
    struct zr_transaction transaction;
    struct zr_bytes data; /* to write */
    char number[ZR_COUNTER_DIGITS], text[ZR_COUNTER_DIGITS];
};

struct zr_write *zr_write_of(struct zr_task *task);
struct zr_counter *zr_counter_of(struct zr_task *task);

/* Steps. begin: waits for the task's turn, makes the mark if it is missing, then decides. */
void zr_write_begin(struct zr_task *task);

/* Reads the counter, then decides again. Afterwards its value is known, and fresh. */
void zr_write_refresh(struct zr_task *task);

/* Writes this value if the counter has this version, and ends the task. If it has another one,
   decides again, and nothing is known. */
void zr_write_value(struct zr_task *task, int64_t value, int32_t version);
/* The same with any data, if the task is `raw`. borrows: data. */
void zr_write_data(struct zr_task *task, struct zr_bytes data, int32_t version);

/* Ends the task: it has succeeded. differs: without a write. */
void zr_write_finish(struct zr_task *task);
void zr_write_differs(struct zr_task *task);

/* Of write.c, for write_once.c. renew: the mark has no znode; makes another one, then decides
 * again. */
void zr_write_renew(struct zr_task *task);
/* True if no connection was lost since the sync was answered. */
bool zr_write_is_behind(struct zr_task *task);

/* For the kind of the task: its clean-up, `asking` and `free`. */
void zr_write_give_up(struct zr_task *task);
bool zr_write_asking(const struct zr_task *task);
void zr_write_free(struct zr_task *task);

/* gives: a zeroed task of this size, which begins with a struct zr_write; to be started with
   zr_write_begin. Errors: ZR_NO_MEMORY, or why the session cannot be used. */
enum zr_status zr_write_new(size_t size, struct zr_object *self, zr_step *decide,
                            struct zr_write **write);

#endif
