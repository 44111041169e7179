#ifndef ZR_COUNTER_H
#define ZR_COUNTER_H

/*
 * counter.h: what the files of this folder share; only for them. counter.c has the class, and
 * reads; change.c has the methods that write. Thread: the host's.
 */

#include "recipes/counter/write_mark.h"
#include "recipes/znode.h"

/* Lua 5.1 has no integers but floating-point numbers, which are exact up to here. */
#define ZR_COUNTER_MAX (INT64_C(1) << 53)

#define ZR_COUNTER_DIGITS 24 /* bytes for a value as text */

struct zr_counter {
    struct zr_znode znode;
    /* of write.c: */
    struct zr_task *writer; /* whose turn it is; or null */
    struct zr_signal turn;  /* tasks that wait for their turn */
    struct zr_mark *mark;   /* or null */
    uint64_t writes;        /* tasks that have begun to write so far */
    bool known; /* the value and the version that the znode had, after the mark was made */
    int64_t value;
    int32_t version;
};

struct zr_counter_options {
    int64_t timeout_us; /* -1: no limit */
};

/* For steps: reads a value from the answer to a get (ZR_OK or ZR_NO_NODE). Returns ZR_CONFLICT, and
   explains it, if the znode holds no value. */
enum zr_status zr_counter_read(struct zr_task *task, const struct zr_request *answer,
                               int64_t *value);

/* value.c makes its objects of these. */
extern const struct zr_class zr_counter_class;
extern const struct zr_recipe zr_counter_recipe;

/* The limit of a method with these arguments. */
struct zr_arg zr_counter_limit(const struct zr_args *args);

/* counter:add(n), counter:set(value), counter:compare_and_set(expected, value) */
enum zr_status zr_counter_add(struct zr_object *self, struct zr_args *args, struct zr_task **task);
enum zr_status zr_counter_set(struct zr_object *self, struct zr_args *args, struct zr_task **task);
enum zr_status zr_counter_compare(struct zr_object *self, struct zr_args *args,
                                  struct zr_task **task);

#endif
