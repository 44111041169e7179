#ifndef ZR_RAW_TASK_H
#define ZR_RAW_TASK_H

/* raw_task.h: the task behind a plain request. For raw.c and raw_*.c only. */

#include "core/call.h"
#include "core/task.h"
#include "recipes/raw.h"

struct zr_hold;

struct raw {
    struct zr_task task;
    enum zr_op op;          /* of the method; a hold always sends a multi */
    enum zr_status outcome; /* what the server said */
    struct zr_object *self; /* counted */
    struct zr_hold *hold;   /* the hold whose node is checked, or null; it is also `self` */
    struct zr_call *call;   /* before it is sent, and after it is answered */
    char *subject;          /* the user's path */
    char *parent;           /* being made */
    bool parents;           /* make it when it is missing */
    char detail[256];
};

struct raw *raw_of(struct zr_task *task);

/* The session of `self`, which is a session or a hold. */
struct zr_session *raw_session(struct zr_object *self);

/* gives: a task without a call; freed by raw_free as long as it does not run. borrows: subject.
   Errors: ZR_NO_MEMORY. */
enum zr_status raw_new(struct zr_object *self, enum zr_op op, const char *subject,
                       struct raw **out);

/* gives: a task with a call, if the session is usable. borrows: path, data. Errors: as
   zr_session_usable and zr_call_new. */
enum zr_status raw_make(struct zr_object *self, enum zr_op op, struct zr_bytes path,
                        struct zr_bytes data, struct raw **out);

/* Starts it. timeout_us: -1: zr_session_patience_us. takes: raw. */
enum zr_status raw_run(struct raw *raw, int64_t timeout_us, struct zr_task **task);

/* The limit given in the options of a method made by ZR_RAW_METHOD. */
int64_t raw_timeout_us(const struct zr_args *args);

/* The mode that these options ask for; or returns what is wrong with them (static text). */
const char *raw_mode(const struct zr_create_options *options, enum zr_mode *mode);

/* The version that was asked for, or any. */
int32_t raw_version(const struct zr_arg *version);

/* The kind for this method. */
const struct zr_task_kind *raw_kind(enum zr_op op, bool of_hold);

/* takes: the task and all it has. */
void raw_free(struct zr_task *task);

#endif
