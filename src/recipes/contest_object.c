#include "recipes/contest_object.h"

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/contenders.h"
#include "recipes/hold.h"

/* ---- Making and freeing -------------------------------------------------------------------- */

void zr_contest_free(struct zr_object *self)
{
    struct zr_contest *contest = (struct zr_contest *)self;
    struct zr_session *session = contest->session;
    zr_free((char *)contest->data.at);
    zr_free(contest->path);
    zr_free(contest->dir);
    zr_free(contest);
    zr_session_unuse(session);
}

enum zr_status zr_contest_new(size_t size, const struct zr_class *class, struct zr_session *session,
                              const char *path, struct zr_bytes data, struct zr_object **object)
{
    struct zr_contest *contest = zr_alloc(size);
    if (contest == NULL)
        return ZR_NO_MEMORY;
    contest->object = (struct zr_object){class, 1};
    contest->session = session;
    zr_session_use(session);
    zr_list_init(&contest->attempts);
    contest->path = zr_copy_string(path);
    contest->dir = zr_path_join(session->namespace, path);
    if (data.at != NULL)
        contest->data = (struct zr_bytes){zr_copy(data.at, data.length), data.length};
    bool complete = contest->path != NULL && contest->dir != NULL &&
                    (contest->data.at != NULL || data.at == NULL);
    *object = &contest->object;
    if (!complete)
        zr_object_unref(*object);
    return complete ? ZR_OK : ZR_NO_MEMORY;
}

/* ---- The attempts -------------------------------------------------------------------------- */

static bool is_of(struct zr_task *task, const struct zr_stem *stem)
{
    return task->phase == ZR_RUNNING && (stem == NULL || zr_hold_of(task)->seat.stem == stem);
}

void zr_contest_cancel_of(struct zr_contest *contest, const struct zr_stem *stem,
                          struct zr_sink *sink)
{
    int64_t count = 0;
    ZR_LIST_EACH (link, &contest->attempts) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_owner);
        if (is_of(task, stem)) {
            count++;
            zr_task_interrupt(task, ZR_CANCELED);
        }
    }
    sink->integer(sink, NULL, count);
}

enum zr_status zr_contest_cancel(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    (void)args;
    zr_contest_cancel_of((struct zr_contest *)self, NULL, sink);
    return ZR_OK;
}

static void emit_attempt(struct zr_sink *sink, const struct zr_hold *hold)
{
    sink->begin(sink, NULL);
    if (hold->position >= 0)
        sink->integer(sink, "ahead", hold->position);
    sink->number(sink, "since", (double)hold->since_us / 1e6);
    sink->end(sink);
}

void zr_contest_attempts_of(const struct zr_contest *contest, const struct zr_stem *stem,
                            struct zr_sink *sink)
{
    const struct zr_link *end = &contest->attempts.head;
    sink->begin(sink, NULL);
    for (struct zr_link *link = end->next; link != end; link = link->next) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_owner);
        if (is_of(task, stem))
            emit_attempt(sink, zr_hold_of(task));
    }
    sink->end(sink);
}

enum zr_status zr_contest_attempts(struct zr_object *self, struct zr_args *args,
                                   struct zr_sink *sink)
{
    (void)args;
    zr_contest_attempts_of((struct zr_contest *)self, NULL, sink);
    return ZR_OK;
}

/* ---- Contenders and properties ------------------------------------------------------------- */

enum zr_status zr_contest_contenders(struct zr_object *self, const char *method,
                                     struct zr_args *args, struct zr_task **task)
{
    struct zr_contest *contest = (struct zr_contest *)self;
    return zr_contenders_start(contest->session, self, method, contest->dir, contest->path,
                               &args->at[0], task);
}

void zr_contest_get_path(struct zr_object *self, struct zr_sink *sink)
{
    zr_emit_string(sink, NULL, ((struct zr_contest *)self)->path);
}

void zr_contest_get_session(struct zr_object *self, struct zr_sink *sink)
{
    sink->object(sink, NULL, &((struct zr_contest *)self)->session->object);
}
