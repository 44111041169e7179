#include "recipes/contenders.h"
#include "recipes/hold.h"
#include "recipes/recipes.h"

#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"

/*
 * The fair lock: whoever came first holds it, the others wait in the order in which they came.
 * The algorithm is "Locks" of ZooKeeper's page of recipes, without its herd.
 *
 * 1. Claim a seat in the lock's directory and see who is there, in one flight.
 * 2. Nobody is ahead: it is ours.
 * 3. Else wait until the one just ahead is gone. Was it surely the holder, it is ours: nobody can
 *    have come in between. Was it perhaps a waiter that gave up, look again who is ahead now.
 *
 * To try (timeout 0) is to look first, and to write nothing while somebody is there.
 *
 * What can go wrong: answers get lost, the directory vanishes, numbers run out (claim sees to
 * it); the wait ends in any other way than with the lock (the clean-up vacates the seat); the
 * session is lost, and the place in the queue with it (the attempt ends with ZR_LOST).
 */

struct lock {
    struct zr_object object;
    struct zr_session *session; /* used */
    struct zr_list attempts;    /* struct zr_task, by in_owner */
    struct zr_bytes data;
    char *path; /* the user's */
    char *dir;  /* with the namespace */
};

struct lock_options {
    struct zr_bytes data;
};

static const struct zr_option options[] = {
    {"data", 'd', offsetof(struct lock_options, data)},
    {NULL, 0, 0},
};

/* ---- Acquire ------------------------------------------------------------------------------- */

static void claim(struct zr_task *task);
static void check(struct zr_task *task);

static void held_by_another(struct zr_task *task)
{
    task->detail = "it is held by somebody else";
    zr_verb_fail(task, ZR_TIMEOUT);
}

static void look(struct zr_task *task)
{
    if (task->seats != NULL && task->seats->count > 0)
        held_by_another(task);
    else
        claim(task);
}

static void look_first(struct zr_task *task)
{
    zr_verb_list(task, zr_hold_of(task)->seat.dir, ZR_STEP(look));
}

static void claim(struct zr_task *task)
{
    zr_verb_claim(task, &zr_hold_of(task)->seat, ZR_STEP(check));
}

static void moved_up(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    if (hold->next_in_line || task->head_left)
        zr_hold_grant(hold);
    else
        zr_verb_list(task, hold->seat.dir, ZR_STEP(check));
}

static void check(struct zr_task *task)
{
    struct zr_hold *hold = zr_hold_of(task);
    int64_t index = task->seats != NULL ? zr_seat_index(&hold->seat, task->seats) : -1;
    hold->next_in_line = index == 1;
    if (index == 0) {
        zr_hold_grant(hold);
    } else if (index < 0) {
        zr_seat_gone(&hold->seat); /* somebody has removed it */
        claim(task);
    } else if (hold->only_try) {
        held_by_another(task);
    } else {
        zr_verb_await_gone(task, hold->seat.dir, task->seats->at[index - 1].name,
                           ZR_STEP(moved_up));
    }
}

static const struct zr_task_kind acquire_kind = {
    .name = "lock:acquire",
    .clean = zr_hold_clean,
    .bound = true,
    .results = zr_hold_results,
    .discard = zr_hold_discard,
    .free = zr_hold_free_task,
};

static const struct zr_task_kind try_kind = {
    .name = "lock:acquire",
    .clean = zr_hold_clean,
    .bound = true,
    .late = ZR_CONNECTION_LOSS,
    .results = zr_hold_results,
    .discard = zr_hold_discard,
    .free = zr_hold_free_task,
};

static enum zr_status start_acquire(struct zr_object *self, struct zr_args *args,
                                    struct zr_task **task)
{
    struct lock *lock = (struct lock *)self;
    const struct zr_arg *timeout = &args->at[0];
    enum zr_status status = zr_session_usable(lock->session);
    if (status != ZR_OK)
        return status;
    struct zr_hold *hold = zr_hold_new(lock->session, self, lock->dir, lock->data);
    if (hold == NULL)
        return ZR_NO_MEMORY;
    *task = &hold->task;
    hold->only_try = timeout->given && timeout->integer == 0;
    zr_list_append(&lock->attempts, &hold->task.in_owner);
    if (hold->only_try)
        zr_task_start(*task, &try_kind, lock->session, lock->path,
                      zr_session_patience_us(lock->session), ZR_STEP(look_first));
    else
        zr_task_start(*task, &acquire_kind, lock->session, lock->path,
                      timeout->given ? timeout->integer : -1, ZR_STEP(claim));
    return ZR_OK;
}

static enum zr_status call_cancel(struct zr_object *self, struct zr_args *args,
                                  struct zr_sink *sink)
{
    (void)args;
    struct lock *lock = (struct lock *)self;
    int64_t count = 0;
    struct zr_link *link, *next;
    for (link = lock->attempts.head.next; link != &lock->attempts.head; link = next) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_owner);
        next = link->next;
        count += task->phase == ZR_RUNNING;
        zr_task_interrupt(task, ZR_CANCELED);
    }
    sink->integer(sink, NULL, count);
    return ZR_OK;
}

/* ---- The class ----------------------------------------------------------------------------- */

static enum zr_status start_contenders(struct zr_object *self, struct zr_args *args,
                                       struct zr_task **task)
{
    (void)args;
    struct lock *lock = (struct lock *)self;
    return zr_contenders_start(lock->session, self, lock->dir, lock->path, "lock:contenders", task);
}

static void get_path(struct zr_object *self, struct zr_sink *sink)
{
    zr_emit_string(sink, NULL, ((struct lock *)self)->path);
}

static void free_lock(struct zr_object *self)
{
    struct lock *lock = (struct lock *)self;
    struct zr_session *session = lock->session;
    zr_free((char *)lock->data.at);
    zr_free(lock->path);
    zr_free(lock->dir);
    zr_free(lock);
    zr_session_unuse(session);
}

static const struct zr_method methods[] = {
    {.name = "acquire", .args = "t?", .start = start_acquire},
    {.name = "cancel", .args = "", .call = call_cancel},
    {.name = "contenders", .args = "", .start = start_contenders},
    {.name = NULL},
};

static const struct zr_property properties[] = {{"path", get_path}, {NULL, NULL}};

const struct zr_class zr_lock_class = {"lock", methods, properties, NULL, free_lock};

static enum zr_status make(struct zr_session *session, struct zr_args *args,
                           struct zr_object **object)
{
    const struct lock_options *given = args->options;
    const char *path = args->at[0].bytes.at;
    struct lock *lock = zr_alloc(sizeof(*lock));
    if (lock == NULL)
        return ZR_NO_MEMORY;
    lock->object = (struct zr_object){&zr_lock_class, 1};
    lock->session = session;
    zr_session_use(session);
    zr_list_init(&lock->attempts);
    lock->path = zr_copy_string(path);
    lock->dir = zr_path_join(session->namespace, path);
    if (given->data.at != NULL)
        lock->data =
            (struct zr_bytes){zr_copy(given->data.at, given->data.length), given->data.length};
    bool complete = lock->path != NULL && lock->dir != NULL &&
                    (lock->data.at != NULL || given->data.at == NULL);
    *object = &lock->object;
    if (!complete)
        zr_object_unref(*object);
    return complete ? ZR_OK : ZR_NO_MEMORY;
}

const struct zr_recipe zr_lock_recipe = {
    .name = "lock",
    .args = "po?",
    .options = options,
    .options_size = sizeof(struct lock_options),
    .make = make,
};
