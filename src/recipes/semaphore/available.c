#include "core/alloc.h"
#include "core/verbs.h"
#include "recipes/semaphore/semaphore.h"

/*
 * semaphore:available(): the limit, less the permits of all seats that may hold: those before the
 * first waiter that does not fit. It sends one listing, and, if the limit is not known, a read of
 * it in the same flight. If there is no directory, the whole limit that it was opened with is free.
 * Seats with unusual names are read: strangers do not count.
 */

struct count {
    struct zr_task task;
    struct zr_limit_read read; /* its semaphore is counted */
    int64_t available;
    struct zr_sift sift;
};

static struct count *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct count, task);
}

static void look(struct zr_task *task);

static int64_t available(const struct zr_capacity *capacity, const struct zr_seats *seats)
{
    int64_t held = 0;
    for (size_t i = 0; i < seats->count && zr_permits_may_hold(capacity, seats, (int64_t)i); i++)
        held += zr_permits(&seats->at[i]);
    return held < capacity->limit ? capacity->limit - held : 0;
}

static void found(struct zr_task *task, int64_t permits)
{
    of(task)->available = permits;
    zr_task_finish(task, ZR_OK);
}

static void sift(struct zr_task *task);

static void sifted(struct zr_task *task)
{
    enum zr_suspect_verdict verdict = zr_sift_answered(task, &of(task)->sift);
    if (verdict == ZR_SUSPECT_PASSED)
        look(task);
    else if (verdict == ZR_SUSPECT_CONTENDS)
        sift(task);
}

static void sift(struct zr_task *task)
{
    struct zr_semaphore *semaphore = of(task)->read.semaphore;
    if (!zr_sift_next(task, &of(task)->sift, task->seats->count, semaphore->contest.dir,
                      ZR_STEP(sifted)) &&
        zr_limit_stands(task, &of(task)->read, look))
        found(task, available(&semaphore->capacity, task->seats));
}

static void looked(struct zr_task *task)
{
    struct zr_limit_read *read = &of(task)->read;
    const struct zr_semaphore *semaphore = read->semaphore;
    if (task->seats == NULL && semaphore->given == 0)
        zr_limit_missing(task);
    else if (task->seats == NULL)
        found(task, semaphore->given);
    else
        sift(task);
}

static void look(struct zr_task *task)
{
    struct zr_limit_read *read = &of(task)->read;
    zr_sift_forget(&of(task)->sift);
    enum zr_status status = read->semaphore->known ? ZR_OK : zr_limit_ask(read);
    if (status == ZR_OK)
        zr_verb_list(task, read->semaphore->contest.dir, ZR_STEP(looked));
    else
        zr_verb_fail(task, status);
}

static void results(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, of(task)->available);
}

static void free_count(struct zr_task *task)
{
    struct count *count = of(task);
    struct zr_object *semaphore = &count->read.semaphore->contest.object;
    zr_limit_fini(&count->read);
    zr_sift_forget(&count->sift);
    zr_free(count);
    zr_object_unref(semaphore);
}

static const struct zr_task_kind kind = {
    .name = "semaphore:available", .results = results, .free = free_count};

enum zr_status zr_semaphore_available(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task)
{
    const struct zr_contest *contest = (struct zr_contest *)self;
    enum zr_status status = zr_session_usable(contest->session);
    if (status != ZR_OK)
        return status;
    struct count *count = zr_alloc(sizeof(*count));
    if (count == NULL)
        return ZR_NO_MEMORY;
    count->read.semaphore = (struct zr_semaphore *)zr_object_ref(self);
    *task = &count->task;
    zr_task_start(*task, &kind, contest->session, contest->path,
                  zr_session_limit_us(contest->session, &args->at[0]), ZR_STEP(look));
    return ZR_OK;
}
