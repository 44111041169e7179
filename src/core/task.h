#ifndef ZR_TASK_H
#define ZR_TASK_H

/*
 * task.h: one thing a user waits for: acquire a lock, read a znode. A recipe writes it as named
 * steps; a step's last act is one verb (verbs.h) that names the next step, or zr_task_finish.
 *
 * The driver here handles deadlines, cancellation and loss of the session. For each of them it runs
 * the recipe's clean-up, which cannot be interrupted, and reports to the waiter exactly once.
 *
 * A step runs only if the verb before it succeeded. A verb's failure ends the task like an
 * interruption. The waiter gets its result at once, and the clean-up continues in the background
 * (it may need a server that cannot be reached now). Requests that follow in the same session are
 * served after it.
 *
 * Thread: the host's.
 */

#include "core/object.h"
#include "core/session.h"
#include "core/timer.h"

typedef void zr_step(struct zr_task *task);

/* For a task that waits until a node is gone: true if the task need not wait longer, though the
   node is still there, because the node says this word. The recipe of the node's stem defines what
   the word means. Called again whenever the word may have changed. */
typedef bool zr_enough(const struct zr_task *task, int64_t word);

/* A step and its name, for traces and messages. */
struct zr_next {
    zr_step *step;
    const char *name;
};
#define ZR_STEP(step) ((struct zr_next){step, #step})

struct zr_task_kind {
    const char *name; /* "lock:acquire" */
    /* Runs after an interruption or a failure, and cannot be interrupted; ends with zr_task_finish
       (any status). May run twice. Null: there is nothing to clean. */
    zr_step *clean;
    /* Runs instead of its end when a verb has failed or the limit has passed: task->outcome says
       why, and no verb is in flight. It may set another limit. The end of the session and the
       waiter still end the task. Null: it ends. */
    zr_step *give_up;
    /* The loss of the session ends it: it owns something in the session, or waits for something
       there. */
    bool bound;
    /* The end of the session does not end it; the task handles that itself. */
    bool outlives;
    /* It only waits for news. With a limit of 0 it ends at once, without time for a round trip. */
    bool local;
    /* What it waits for happens in this process: a limit that passes is ZR_TIMEOUT, even without a
       connection. */
    bool own;
    /* Whether it waits for the answer to a request that another task has sent. Null: see
       task->asking. */
    bool (*asking)(const struct zr_task *task);
    /* A request whose answer is missing may have changed something on the server. */
    bool writes;
    /* Emits the results of a success. After that the task is only dropped. */
    void (*results)(struct zr_task *task, struct zr_sink *sink);
    /* Emits what follows nil, message and code if it has failed. Null: nothing. */
    void (*failed)(struct zr_task *task, struct zr_sink *sink);
    /* What its success is worth when the waiter takes the results, perhaps long after the end:
       ZR_OK, or why it is a failure by then, and is undone by `discard`. Null: it stays a success.
     */
    enum zr_status (*still)(const struct zr_task *task);
    /* It has succeeded, but its waiter did not take the results: undo it and call zr_task_release.
       Null: nothing to undo. */
    void (*discard)(struct zr_task *task);
    /* It has ended, it was dropped, and none of its requests is in flight: free it. */
    void (*free)(struct zr_task *task);
};

enum zr_phase {
    ZR_IDLE,     /* not started */
    ZR_RUNNING,  /* steps; interruptible */
    ZR_CLEANING, /* the clean-up; cannot be interrupted */
    ZR_ENDED,
};

struct zr_task {
    const struct zr_task_kind *kind;
    struct zr_session *session; /* counted */
    const char *subject;        /* the user's path, for messages; belongs to the embedding struct */
    enum zr_phase phase : 8;
    enum zr_status status : 8; /* what is reported */
    bool waited;               /* the binding has not dropped it */
    bool reported;
    int slot;            /* the binding's */
    struct zr_next next; /* the step that follows the verb in flight */
    struct zr_timer deadline;
    const char *detail; /* says more than the status does, or null; static, or own_detail */
    char *own_detail;   /* made by zr_task_explain, or null */
    struct zr_link in_session, in_report, in_owner;

    /* The verb in flight; see verbs.h. */
    void (*resume)(struct zr_task *task); /* continues it */
    void (*after)(struct zr_task *task);  /* a shared part (verb_parts.h) calls it at its end */
    struct zr_link in_ready, in_signal;
    struct zr_watch *watch; /* the task waits until the node of this watch is gone; or null */
    struct zr_timer pause;
    struct zr_call *call;   /* its request in flight */
    struct zr_seats *seats; /* counted: the last listing */
    struct zr_seat *seat;   /* borrowed: of contend and vacate */
    union {
        struct {
            const char *path;      /* borrowed: of list, and of ensure ... */
            size_t cursor, target; /* ... bytes of it: up to the node made now, the last one */
        };
        struct {               /* of all waits for a node: */
            int64_t awaited;   /* its creation zxid; 0: not known yet */
            zr_enough *enough; /* null: the task waits until the node is gone */
            int64_t word;      /* the word that was enough; or the last word of a seat of this
                                  session that has gone; 0: neither */
        };
        struct zr_transaction *transaction; /* borrowed: of transact */
    };
    bool containers : 1; /* of ensure: the directories are made as containers */
    bool repeat : 1;     /* of request */
    bool contends : 1;   /* of a wait for a node: the node is a contender that may be a stranger */
    bool told : 1;       /* of a wait for a node: the node is still there, but its word is enough */
    bool cut_off : 1;    /* it began without a connection */
    bool asking : 1;     /* the answer to a request that it waits for is not here yet */
    bool tries : 1;      /* its limit is 0 */
    bool there : 1;      /* of a wait for a node's presence: it waits until there is one ... */
    bool late : 1;       /* ... and it came after the read that is out was sent */
    bool spoiled : 1;    /* a success when it ended, but not when the waiter took the results */
    bool doubtful : 1;   /* an answer was lost, and the outcome is not known yet: set by transact,
                            or by a step; when it is reported: the change may have been made */
    uint8_t losses;      /* connections lost under the verb in flight, in a row; modulo 256 */
    uint16_t connections;       /* of the session when it began, for cut_off */
    enum zr_status outcome : 8; /* of what woke it */
};

/*
 * Starts a task. It must be zeroed, except for the embedding struct's fields. timeout_us: from now;
 * negative: no limit; 0: to try. A try ends at once, with ZR_CONNECTION_LOSS, if there is no
 * connection; otherwise it has zr_session_try_us for its round trip (but see kind->local). keeps:
 * everything, until kind->free. The first step runs at once, but nothing is reported before the
 * next dispatch.
 *
 * If the limit passes without a connection, or while the answer to a request is missing, the status
 * is ZR_CONNECTION_LOSS, because no server has said anything. Otherwise it is ZR_TIMEOUT.
 */
void zr_task_start(struct zr_task *task, const struct zr_task_kind *kind,
                   struct zr_session *session, const char *subject, int64_t timeout_us,
                   struct zr_next first);

/* For steps: replaces the limit; timeout_us: from now, not 0; negative: no limit. */
void zr_task_limit(struct zr_task *task, int64_t timeout_us);

/* Starts it as a clean-up without a waiter: kind->clean is its first step. */
void zr_task_start_cleaning(struct zr_task *task, const struct zr_task_kind *kind,
                            struct zr_session *session);

/* For steps: the task is done. Tells the waiter, if it was not told already. */
void zr_task_finish(struct zr_task *task, enum zr_status status);

/* For verbs: the verb is done. Runs the next step, or begins the clean-up. */
void zr_task_verb_done(struct zr_task *task, enum zr_status status);

/* Ends the task with this status, for the waiter, a deadline or the session. Does nothing if the
   task has reported already or is cleaning up. */
void zr_task_interrupt(struct zr_task *task, enum zr_status status);

/* The session calls this: its generation is over (kind->bound), or it is closed. A clean-up that is
   running starts again, to find out that nothing is left to clean. */
void zr_task_session_over(struct zr_task *task, enum zr_status status);

/* The session calls this when its connection is gone. Ends the tasks that only try. */
void zr_task_end_tries(struct zr_session *session);

/* For the binding, just before it takes the results of a task that has reported: what kind->still
   says makes a success a failure. */
void zr_task_settle(struct zr_task *task);

/* The binding no longer needs the task: interrupts it, or undoes a success whose results were not
   taken. */
void zr_task_drop(struct zr_task *task, bool taken);

/* The task has no waiter; it runs on by itself. */
void zr_task_detach(struct zr_task *task);

/* Queues the task, so that its verb continues in the dispatch; nothing if it is queued already. */
void zr_task_wake(struct zr_task *task, enum zr_status outcome);

/* Wakes all waiting tasks; their verbs see `outcome`. */
void zr_signal_fire(struct zr_signal *signal, enum zr_status outcome);

/* Wakes only the waiting tasks for which this word is enough (task->enough). They find task->told
   true, and the word in task->word. */
void zr_signal_tell(struct zr_signal *signal, int64_t word);

/* Frees the task once it has ended, the binding has dropped it, and no request is in flight. Call
   it after clearing any of these three. */
void zr_task_release(struct zr_task *task);

/* ---- What a failed task says (task_message.c) ---------------------------------------------- */

/* Sets task->detail to a text that lives as long as the task; to null if memory is exhausted. */
__attribute__((format(printf, 2, 3))) void zr_task_explain(struct zr_task *task, const char *format,
                                                           ...);

/* A read has come to this: if its answer is too large, the detail says so. */
void zr_task_explain_answer(struct zr_task *task, enum zr_status status);

/* The session ends the task with this status: if it is a change that certainly was not made, the
   detail says so. Call it while the request is still there. */
void zr_task_explain_end(struct zr_task *task, enum zr_status status);

/* Sets task->detail to null, and frees the text that zr_task_explain made. */
void zr_task_forget_detail(struct zr_task *task);

/* Before a failure is reported: notes whether the message must say that the change may have been
   made. */
void zr_task_note_doubt(struct zr_task *task);

/* The detail for a limit that passed while no server answered. Static. */
const char *zr_task_silence(const struct zr_task *task);

/* Writes "lock:acquire /a: the time limit passed" and returns buffer. */
const char *zr_task_message(const struct zr_task *task, char *buffer, size_t size);

#endif
