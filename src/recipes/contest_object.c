#include "recipes/contest_object.h"

#include <inttypes.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
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
    for (struct zr_link *link; (link = zr_list_shift(&contest->shown)) != NULL;)
        zr_free(link); /* the first member of its block */
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
    zr_list_init(&contest->shown);
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

/* A sink allocates, so a finalizer may run in it and end any attempt: copies are emitted. If the
   sink raises an error, the copy stays until the contest is freed. */
struct shown {
    struct zr_link link;
    size_t count;
    struct {
        int64_t position, since_us;
    } at[];
};

static struct shown *copy_attempts(struct zr_contest *contest, const struct zr_stem *stem)
{
    size_t count = 0;
    ZR_LIST_EACH (link, &contest->attempts)
        count++;
    struct shown *shown = zr_alloc(sizeof *shown + count * sizeof shown->at[0]);
    if (shown == NULL)
        return NULL;
    ZR_LIST_EACH (link, &contest->attempts) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_owner);
        const struct zr_hold *hold = zr_hold_of(task);
        if (!is_of(task, stem))
            continue;
        shown->at[shown->count].position = hold->position;
        shown->at[shown->count++].since_us = hold->since_us;
    }
    zr_list_append(&contest->shown, &shown->link);
    return shown;
}

static void free_shown(struct shown *shown)
{
    zr_unlink(&shown->link);
    zr_free(shown);
}

enum zr_status zr_contest_attempts_of(struct zr_contest *contest, const struct zr_stem *stem,
                                      struct zr_sink *sink)
{
    struct shown *shown = copy_attempts(contest, stem);
    if (shown == NULL)
        return ZR_NO_MEMORY;
    sink->begin(sink, NULL);
    for (size_t i = 0; i < shown->count; i++) {
        sink->begin(sink, NULL);
        if (shown->at[i].position >= 0)
            sink->integer(sink, "ahead", shown->at[i].position);
        sink->number(sink, "since", (double)shown->at[i].since_us / 1e6);
        sink->end(sink);
    }
    sink->end(sink);
    free_shown(shown);
    return ZR_OK;
}

enum zr_status zr_contest_attempts(struct zr_object *self, struct zr_args *args,
                                   struct zr_sink *sink)
{
    (void)args;
    return zr_contest_attempts_of((struct zr_contest *)self, NULL, sink);
}

bool zr_contest_queue_full(struct zr_task *task)
{
    const struct zr_hold *hold = zr_hold_of(task);
    int64_t most = ((const struct zr_contest *)hold->owner)->max_queue;
    if (most == 0 || hold->position <= most)
        return false;
    zr_task_explain(task, "%d contenders are ahead, and max_queue is %" PRId64, (int)hold->position,
                    most);
    zr_verb_fail(task, ZR_FULL);
    return true;
}

/* ---- Contenders and properties ------------------------------------------------------------- */

enum zr_status zr_contest_contenders(struct zr_object *self, const char *method,
                                     struct zr_args *args, struct zr_task **task)
{
    struct zr_contest *contest = (struct zr_contest *)self;
    return zr_contenders_start(contest->session, self, method, contest->dir, true, contest->path,
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
