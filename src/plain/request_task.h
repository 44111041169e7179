#ifndef ZR_PLAIN_REQUEST_TASK_H
#define ZR_PLAIN_REQUEST_TASK_H

/* request_task.h: the task behind a plain request. For request*.c and recipes/guarded.c only. */

#include "core/call.h"
#include "core/task.h"
#include "core/verbs.h"
#include "plain/request.h"

/* How a write begins with checks: of a node of ours, and perhaps of the version of another node.
   Static. */
struct zr_guard {
    const struct zr_task_kind *kinds; /* by the method's enum zr_op */
    size_t checks;                    /* 1 or 2 */
    zr_step *gone;                    /* the first check has failed: nothing was written */
    zr_step *changed; /* the second check has failed: nothing was written; it may set the version
                         and send again. Null: there is only one */
};

/* How a `transact` asks whether its multi was done. */
struct zr_doubt {
    struct zr_transaction transaction;
    bool asked; /* the answer was lost, and a sync was answered after that */
};

struct zr_plain {
    struct zr_task task;
    enum zr_op op;                /* of the method; a guarded write is sent as a multi */
    enum zr_status outcome;       /* what the server said */
    struct zr_object *self;       /* counted */
    const struct zr_guard *guard; /* the first parts are checks; null: there are none */
    struct zr_call *call;         /* before it is sent, and after it is answered */
    char *subject;                /* the user's path */
    char *parent;                 /* being made */
    struct zr_doubt *doubt;       /* of `transact`; null: another method */
    bool parents;                 /* make it when it is missing */
    char detail[256];
};

struct zr_plain *zr_plain_of(struct zr_task *task);

/* gives: a task with a call, if the session is usable. self: the session. borrows: path, data.
   Errors: as zr_session_usable and zr_call_new. */
enum zr_status zr_plain_new(struct zr_object *self, enum zr_op op, struct zr_bytes path,
                            struct zr_bytes data, struct zr_plain **out);

/* As zr_plain_new, with a multi. self: the session, or what the method belongs to. check: as
   `guard` of zr_call_new_multi; if it is not null, the caller sets the task's guard. borrows:
   check, parts. */
enum zr_status zr_plain_new_multi(struct zr_object *self, struct zr_session *session, enum zr_op op,
                                  const char *check, const struct zr_request *parts, size_t count,
                                  struct zr_plain **out);

/* Step: sends plain->call, perhaps once more. */
void zr_plain_send(struct zr_task *task);

/* How many parts of its multi are checks of its guard. */
size_t zr_plain_checks(const struct zr_plain *plain);

/* Starts it. timeout_us: -1: zr_session_patience_us. takes: plain. */
enum zr_status zr_plain_run(struct zr_plain *plain, int64_t timeout_us, struct zr_task **task);

/* The limit given in the options of a method made by ZR_PLAIN_METHOD. */
int64_t zr_plain_timeout_us(const struct zr_args *args);

/* The mode that these options ask for; or returns what is wrong with them (static text). */
const char *zr_plain_mode(const struct zr_create_options *options, enum zr_mode *mode);

/* The version that was asked for, or any. */
int32_t zr_plain_version(const struct zr_arg *version);

/* The kind of each method of the session, by its enum zr_op. */
extern const struct zr_task_kind zr_plain_kinds[];

/* A kind for a guard's list. */
#define ZR_PLAIN_KIND(word, emit, changes)                                                         \
    {                                                                                              \
        .name = (word), .writes = (changes), .results = (emit), .free = zr_plain_free              \
    }

/* Results of a multi: of all its parts, or of the only one. */
void zr_plain_multi_results(struct zr_task *task, struct zr_sink *sink);

/* takes: the task and all it has. */
void zr_plain_free(struct zr_task *task);

#endif
