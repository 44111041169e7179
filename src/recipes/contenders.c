#include "recipes/contenders.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/meaning.h"

/*
 * 1. List the directory. (Without a queue there is only one node, and it is read.)
 * 2. Read every contender's node, all at the same time. If some ask for permits, also read the
 *    directory: its data say how many permits there are, so how many contenders hold.
 * 3. When the last answer has come: done. The result has no contenders that have left meanwhile,
 *    and no znodes that are not ephemeral: a session holds nothing by such a znode, even if it is
 *    named like a contender.
 */

static struct zr_contenders *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct zr_contenders, task);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void all_read(struct zr_task *task)
{
    const struct zr_contenders *all = of(task);
    if (all->status == ZR_OK)
        all->then.step(task);
    else
        zr_verb_fail(task, all->status);
}

static void read_done(struct zr_call *call)
{
    struct zr_contenders *all = call->owner;
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

static enum zr_status read_path(struct zr_contenders *all, const char *path, struct zr_call **call)
{
    enum zr_status status = zr_call_new_full(all->task.session, ZR_OP_GET, path, ZR_NO_DATA, call);
    if (status != ZR_OK)
        return status;
    all->missing++;
    zr_call_start(*call, read_done, all);
    return ZR_OK;
}

static enum zr_status start_read(struct zr_contenders *all, const char *name, struct zr_call **call)
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

static enum zr_status read_dir_data(struct zr_contenders *all)
{
    for (size_t i = 0; i < all->seats->count; i++)
        if (counts_permits(&all->seats->at[i]))
            return read_path(all, all->dir, &all->dir_data);
    return ZR_OK;
}

static enum zr_status read_at(struct zr_contenders *all, size_t index)
{
    struct zr_call **call = &all->reads[index];
    if (all->seats == NULL)
        return read_path(all, all->dir, call);
    return start_read(all, all->seats->at[index].name, call);
}

static void read_each(struct zr_task *task, size_t count)
{
    struct zr_contenders *all = of(task);
    all->reads = zr_alloc(count * sizeof(*all->reads));
    enum zr_status status = all->reads != NULL ? ZR_OK : ZR_NO_MEMORY;
    if (status == ZR_OK && all->seats != NULL)
        status = read_dir_data(all);
    for (; status == ZR_OK && all->count < count; all->count++)
        status = read_at(all, all->count);
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    zr_verb_await(task, &all->all_read, ZR_STEP(all_read));
    task->asking = true;
}

static void listed(struct zr_task *task)
{
    struct zr_contenders *all = of(task);
    all->seats = task->seats;
    task->seats = NULL;
    if (all->seats != NULL && all->seats->count > 0)
        read_each(task, all->seats->count);
    else
        all->then.step(task);
}

void zr_contenders_read(struct zr_task *task)
{
    if (of(task)->queue)
        zr_verb_list(task, of(task)->dir, ZR_STEP(listed));
    else
        read_each(task, 1);
}

/* ---- Who holds ----------------------------------------------------------------------------- */

static bool holds(const struct zr_contenders *all, const struct zr_seat_name *seat,
                  const struct zr_contenders_at *at)
{
    if (counts_permits(seat))
        return zr_meaning_of(seat->stem)
            ->fits(all->dir_data->request.data_reply, seat->sequence, at->permits);
    return !at->some || !at->some_alone;
}

static const struct zr_seat_name only = {.name = ""};

/* False: the contender has left, or never was one. */
static bool look_at(const struct zr_contenders *all, size_t index, struct zr_contenders_at *at,
                    struct zr_contender *one)
{
    const struct zr_seat_name *seat = all->seats != NULL ? &all->seats->at[index] : &only;
    const struct zr_request *read = &all->reads[index]->request;
    int64_t permits = counts_permits(seat) ? seat->note : 0;
    if (read->status == ZR_OK && read->stat.ephemeral_owner == 0)
        return false;
    at->permits += permits;
    if (read->status != ZR_OK)
        return false;
    bool shared = zr_contender_shares(all, seat->stem, read);
    at->some_alone = at->some_alone || !shared;
    *one = (struct zr_contender){read, seat->stem, permits, holds(all, seat, at), shared};
    at->some = true;
    return true;
}

bool zr_contender_shares(const struct zr_contenders *all, const struct zr_stem *stem,
                         const struct zr_request *read)
{
    return zr_shares(stem, zr_stem_word(all->task.session->engine->recipes, read));
}

bool zr_contenders_next(const struct zr_contenders *all, struct zr_contenders_at *at,
                        struct zr_contender *one)
{
    while (at->index < all->count)
        if (look_at(all, at->index++, at, one))
            return true;
    return false;
}

/* ---- The results --------------------------------------------------------------------------- */

static struct zr_bytes user_data(const struct zr_stem *stem, const struct zr_request *read)
{
    const struct zr_meaning *meaning = zr_meaning_of(stem);
    return meaning->user_data != NULL ? meaning->user_data(read) : read->data_reply;
}

static void emit_one(struct zr_sink *sink, const char *namespace, const struct zr_contender *one)
{
    const struct zr_request *read = one->read;
    sink->begin(sink, NULL);
    sink->bytes(sink, "data", user_data(one->stem, read));
    zr_emit_string(sink, "path", zr_path_inside(namespace, read->path));
    sink->id(sink, "token", read->stat.czxid);
    sink->boolean(sink, "holding", one->holding);
    sink->boolean(sink, "shared", one->shared);
    if (one->permits > 0)
        sink->integer(sink, "permits", one->permits);
    sink->integer(sink, "version", read->stat.version);
    sink->id(sink, "session", read->stat.ephemeral_owner);
    sink->number(sink, "since", (double)read->stat.ctime_ms / 1e3);
    sink->end(sink);
}

static void results(struct zr_task *task, struct zr_sink *sink)
{
    struct zr_contenders_at at = {.index = 0};
    struct zr_contender one;
    sink->begin(sink, NULL);
    while (zr_contenders_next(of(task), &at, &one))
        emit_one(sink, task->session->namespace, &one);
    sink->end(sink);
}

/* ---- Starting ------------------------------------------------------------------------------ */

void zr_contenders_free(struct zr_task *task)
{
    struct zr_contenders *all = of(task);
    for (size_t i = 0; i < all->count; i++)
        zr_call_free(all->reads[i]);
    zr_free(all->reads);
    zr_call_free(all->dir_data);
    zr_seats_unref(all->seats);
    struct zr_object *self = all->self;
    zr_free(all);
    zr_object_unref(self);
}

struct zr_contenders *zr_contenders_new(size_t size, struct zr_object *self, const char *dir,
                                        bool queue, struct zr_next then)
{
    struct zr_contenders *all = zr_alloc(size);
    if (all == NULL)
        return NULL;
    all->self = zr_object_ref(self);
    all->dir = dir;
    all->queue = queue;
    all->then = then;
    zr_signal_init(&all->all_read);
    return all;
}

static void finish(struct zr_task *task)
{
    zr_task_finish(task, ZR_OK);
}

enum zr_status zr_contenders_start(struct zr_session *session, struct zr_object *self,
                                   const char *method, const char *dir, bool queue,
                                   const char *subject, const struct zr_arg *limit,
                                   struct zr_task **task)
{
    enum zr_status status = zr_session_usable(session);
    if (status != ZR_OK)
        return status;
    struct zr_contenders *all = zr_contenders_new(sizeof(*all), self, dir, queue, ZR_STEP(finish));
    if (all == NULL)
        return ZR_NO_MEMORY;
    all->kind =
        (struct zr_task_kind){.name = method, .results = results, .free = zr_contenders_free};
    *task = &all->task;
    zr_task_start(*task, &all->kind, session, subject, zr_session_limit_us(session, limit),
                  ZR_STEP(zr_contenders_read));
    return ZR_OK;
}
