#include "recipes/contenders.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/meaning.h"

/*
 * 1. List the directory.
 * 2. Read every contender's node, all at the same time. If some ask for permits, also read the
 *    directory: its data say how many permits there are, so how many contenders hold.
 * 3. When the last answer has come: done. The result has no contenders that have left meanwhile,
 *    and no znodes that are not ephemeral: a session holds nothing by such a znode, even if it is
 *    named like a contender.
 */

struct contenders {
    struct zr_task task;
    struct zr_task_kind kind; /* with the name of the method */
    struct zr_object *self;   /* counted */
    const char *dir;
    struct zr_seats *seats; /* counted: the listing */
    struct zr_signal all_read;
    size_t count, missing;    /* reads; those that are still out */
    struct zr_call **reads;   /* null: had no memory or was refused */
    struct zr_call *dir_data; /* the read of the directory, or null */
    enum zr_status status;
};

static struct contenders *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct contenders, task);
}

static void finish(struct zr_task *task)
{
    zr_task_finish(task, of(task)->status);
}

static void read_done(struct zr_call *call)
{
    struct contenders *all = call->owner;
    enum zr_status status = call->request.status;
    if (status == ZR_CONNECTION_LOSS) {
        zr_call_again(call);
        return;
    }
    if (status != ZR_OK && status != ZR_NO_NODE)
        all->status = status;
    if (--all->missing == 0)
        zr_signal_fire(&all->all_read, ZR_OK);
}

static enum zr_status read_path(struct contenders *all, const char *path, struct zr_call **call)
{
    enum zr_status status = zr_call_new_full(all->task.session, ZR_OP_GET, path, ZR_NO_DATA, call);
    if (status != ZR_OK)
        return status;
    all->missing++;
    zr_call_start(*call, read_done, all);
    return ZR_OK;
}

static enum zr_status start_read(struct contenders *all, const char *name, struct zr_call **call)
{
    char *path = zr_path_child(all->dir, name);
    enum zr_status status = path != NULL ? read_path(all, path, call) : ZR_NO_MEMORY;
    zr_free(path);
    return status;
}

/* Or it is the directory's data that say who holds. */
static bool counts_permits(const struct zr_seat_name *seat)
{
    return zr_meaning_of(seat->stem)->fits != NULL;
}

static enum zr_status read_dir_data(struct contenders *all)
{
    for (size_t i = 0; i < all->seats->count; i++)
        if (counts_permits(&all->seats->at[i]))
            return read_path(all, all->dir, &all->dir_data);
    return ZR_OK;
}

static void read_all(struct zr_task *task)
{
    struct contenders *all = of(task);
    all->seats = task->seats;
    task->seats = NULL;
    size_t count = all->seats != NULL ? all->seats->count : 0;
    if (count == 0) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    all->reads = zr_alloc(count * sizeof(*all->reads));
    enum zr_status status = all->reads != NULL ? read_dir_data(all) : ZR_NO_MEMORY;
    for (; status == ZR_OK && all->count < count; all->count++)
        status = start_read(all, all->seats->at[all->count].name, &all->reads[all->count]);
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    zr_verb_await(task, &all->all_read, ZR_STEP(finish));
    task->asking = true;
}

static void list(struct zr_task *task)
{
    zr_verb_list(task, of(task)->dir, ZR_STEP(read_all));
}

static struct zr_bytes user_data(const struct zr_stem *stem, const struct zr_request *read)
{
    const struct zr_meaning *meaning = zr_meaning_of(stem);
    return meaning->user_data != NULL ? meaning->user_data(read) : read->data_reply;
}

static void emit_one(struct zr_sink *sink, const char *namespace, const struct zr_request *read,
                     struct zr_bytes data, bool holding, bool shared, int64_t permits)
{
    sink->begin(sink, NULL);
    sink->bytes(sink, "data", data);
    zr_emit_string(sink, "path", zr_path_inside(namespace, read->path));
    sink->id(sink, "token", read->stat.czxid);
    sink->boolean(sink, "holding", holding);
    sink->boolean(sink, "shared", shared);
    if (permits > 0)
        sink->integer(sink, "permits", permits);
    sink->integer(sink, "version", read->stat.version);
    sink->id(sink, "session", read->stat.ephemeral_owner);
    sink->number(sink, "since", (double)read->stat.ctime_ms / 1e3);
    sink->end(sink);
}

/* What is ahead of a contender. */
struct ahead {
    bool some, only_shared;
    int64_t permits; /* its own are among them */
};

static bool holds(const struct contenders *all, const struct zr_seat_name *seat,
                  const struct ahead *ahead)
{
    if (counts_permits(seat))
        return zr_meaning_of(seat->stem)
            ->fits(all->dir_data->request.data_reply, seat->sequence, ahead->permits);
    return !ahead->some || ahead->only_shared;
}

static void emit_next(struct zr_sink *sink, const struct contenders *all, size_t index,
                      struct ahead *ahead)
{
    const struct zr_session *session = all->task.session;
    const struct zr_seat_name *seat = &all->seats->at[index];
    const struct zr_request *read = &all->reads[index]->request;
    int64_t permits = counts_permits(seat) ? seat->note : 0;
    if (read->status == ZR_OK && read->stat.ephemeral_owner == 0)
        return;
    ahead->permits += permits;
    if (read->status != ZR_OK)
        return;
    bool shared = zr_shares(seat->stem, zr_stem_word(session->engine->recipes, read));
    ahead->only_shared = ahead->only_shared && shared;
    bool holding = holds(all, seat, ahead);
    ahead->some = true;
    emit_one(sink, session->namespace, read, user_data(seat->stem, read), holding, shared, permits);
}

static void results(struct zr_task *task, struct zr_sink *sink)
{
    const struct contenders *all = of(task);
    struct ahead ahead = {false, true, 0};
    sink->begin(sink, NULL);
    for (size_t i = 0; i < all->count; i++)
        emit_next(sink, all, i, &ahead);
    sink->end(sink);
}

static void free_task(struct zr_task *task)
{
    struct contenders *all = of(task);
    for (size_t i = 0; i < all->count; i++)
        zr_call_free(all->reads[i]);
    zr_free(all->reads);
    zr_call_free(all->dir_data);
    zr_seats_unref(all->seats);
    struct zr_object *self = all->self;
    zr_free(all);
    zr_object_unref(self);
}

static const struct zr_task_kind kind = {.results = results, .free = free_task};

/* ---- Where there is one place -------------------------------------------------------------- */

static void one_read(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NO_NODE)
        zr_task_finish(task, ZR_OK);
    else
        zr_verb_fail(task, task->outcome);
}

static void read_one(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_GET, of(task)->dir, false, ZR_STEP(one_read));
}

static void results_one(struct zr_task *task, struct zr_sink *sink)
{
    const struct zr_request *read = &task->call->request;
    sink->begin(sink, NULL);
    if (read->status == ZR_OK && read->stat.ephemeral_owner != 0)
        emit_one(sink, task->session->namespace, read, read->data_reply, true, false, 0);
    sink->end(sink);
}

static const struct zr_task_kind kind_of_one = {.results = results_one, .free = free_task};

/* ---- Starting ------------------------------------------------------------------------------ */

static enum zr_status start(struct zr_session *session, struct zr_object *self, const char *method,
                            const char *dir, const char *subject, const struct zr_arg *limit,
                            const struct zr_task_kind *how, struct zr_next first,
                            struct zr_task **task)
{
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    struct contenders *all = zr_alloc(sizeof(*all));
    if (all == NULL)
        return ZR_NO_MEMORY;
    all->kind = *how;
    all->kind.name = method;
    all->self = zr_object_ref(self);
    all->dir = dir;
    zr_signal_init(&all->all_read);
    *task = &all->task;
    zr_task_start(*task, &all->kind, session, subject, zr_session_limit_us(session, limit), first);
    return ZR_OK;
}

enum zr_status zr_contenders_start(struct zr_session *session, struct zr_object *self,
                                   const char *method, const char *dir, const char *subject,
                                   const struct zr_arg *limit, struct zr_task **task)
{
    return start(session, self, method, dir, subject, limit, &kind, ZR_STEP(list), task);
}

enum zr_status zr_contenders_start_one(struct zr_session *session, struct zr_object *self,
                                       const char *method, const char *path, const char *subject,
                                       const struct zr_arg *limit, struct zr_task **task)
{
    return start(session, self, method, path, subject, limit, &kind_of_one, ZR_STEP(read_one),
                 task);
}
