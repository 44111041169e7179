#include "recipes/election/tell.h"

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/election/rank.h"

/*
 * term:proclaim, term:ready, and what election:update_rank does for terms:
 * 1. Note what the term says from now on (says.c).
 * 2. Write all that it says into its node.
 *
 * What can go wrong: the answer is lost, or does not come within the session's limit for requests:
 * write again, as long as the term is valid. The value is too large: the term says what it said
 * before, because no later write would succeed with it. If another call has replaced that value
 * meanwhile, and its own is too large as well, neither comes back. The call ends before the answer:
 * the next write has what this one had.
 */

struct telling {
    struct zr_task task;
    struct zr_term *term;   /* counted */
    struct zr_link in_term; /* if it has changed the value */
    int losses;             /* answers lost */
    int64_t number;         /* of the value that this call brought; 0: none */
    struct zr_said before;  /* the value that it replaced */
};

static void write_all(struct zr_task *task);

static struct telling *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct telling, task);
}

/* ---- The end ------------------------------------------------------------------------------- */

/* Where the value is that this call brought: the term says it, or a later call has replaced it.
   Null: it is forgotten. */
static struct zr_said *brought(struct telling *telling)
{
    struct zr_term *term = telling->term;
    if (term->value.number == telling->number)
        return &term->value;
    ZR_LIST_EACH (link, &term->changing) {
        struct telling *later = ZR_HOLDER(link, struct telling, in_term);
        if (later->before.number == telling->number)
            return &later->before;
    }
    return NULL;
}

static void take_back(struct telling *telling)
{
    struct zr_said *value = telling->number != 0 ? brought(telling) : NULL;
    if (value == NULL)
        return;
    zr_free(value->at);
    *value = telling->before;
    telling->before.at = NULL;
}

/* False: it began without a connection, and there has been none since. */
static bool may_have_sent(const struct zr_task *task)
{
    return !task->cut_off || task->connections != task->session->connections;
}

static void end(struct zr_task *task)
{
    if (task->outcome == ZR_TOO_LARGE)
        take_back(of(task));
    task->doubtful = task->outcome == ZR_CONNECTION_LOSS && may_have_sent(task);
    zr_task_interrupt(task, task->outcome);
}

/* The limit has passed, the answer was lost, or the server has refused. */
static void give_up(struct zr_task *task)
{
    if (task->outcome != ZR_CONNECTION_LOSS || !zr_term_valid(of(task)->term)) {
        end(task);
        return;
    }
    zr_task_forget_detail(task);
    zr_task_limit(task, zr_session_patience_us(task->session));
    write_all(task);
}

/* ---- Writing ------------------------------------------------------------------------------- */

static void written(struct zr_task *task)
{
    struct telling *telling = of(task);
    enum zr_status status = zr_says_written(task, telling->term, &telling->losses);
    if (status == ZR_OK)
        zr_task_finish(task, ZR_OK);
    else
        zr_verb_fail(task, status);
}

static void write_all(struct zr_task *task)
{
    zr_says_write(task, of(task)->term, ZR_STEP(written));
}

/* ---- The methods --------------------------------------------------------------------------- */

static void free_telling(struct zr_task *task)
{
    struct telling *telling = of(task);
    struct zr_object *term = &telling->term->hold.object;
    zr_unlink(&telling->in_term);
    zr_free(telling->before.at);
    zr_free(telling);
    zr_object_unref(term);
}

#define KIND(method)                                                                               \
    {                                                                                              \
        .name = (method), .give_up = give_up, .writes = true, .results = zr_emit_true,             \
        .free = free_telling                                                                       \
    }

static const struct zr_task_kind proclaim_kind = KIND("term:proclaim");
static const struct zr_task_kind ready_kind = KIND("term:ready");
static const struct zr_task_kind rank_kind = KIND("term:update_rank");

static enum zr_status why_not(const struct zr_term *term, struct zr_args *args)
{
    const struct zr_hold *hold = &term->hold;
    if (term->resigned)
        args->misuse = "the term was resigned; campaign again first";
    return hold->state == ZR_HELD ? zr_session_usable(hold->session) : hold->why;
}

/* gives: a task that has not begun. */
static enum zr_status new_telling(struct zr_object *self, struct zr_args *args,
                                  struct telling **out)
{
    struct zr_term *term = (struct zr_term *)self;
    enum zr_status status = why_not(term, args);
    if (status != ZR_OK || args->misuse != NULL)
        return status;
    struct telling *telling = zr_alloc(sizeof(*telling));
    if (telling == NULL)
        return ZR_NO_MEMORY;
    telling->term = term;
    zr_object_ref(self);
    *out = telling;
    return ZR_OK;
}

static void start(struct telling *telling, const struct zr_task_kind *kind, struct zr_task **task)
{
    const struct zr_hold *hold = &telling->term->hold;
    struct zr_session *session = hold->session;
    *task = &telling->task;
    zr_task_start(*task, kind, session, zr_path_inside(session->namespace, hold->seat.path),
                  zr_session_patience_us(session), ZR_STEP(write_all));
}

static void replace_value(struct telling *telling, char *value, size_t length)
{
    struct zr_term *term = telling->term;
    telling->before = term->value;
    telling->number = ++term->changes;
    term->value = (struct zr_said){value, length, telling->number};
    zr_list_append(&term->changing, &telling->in_term);
}

enum zr_status zr_term_proclaim(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    const struct zr_bytes value = args->at[0].bytes;
    struct telling *telling;
    enum zr_status status = new_telling(self, args, &telling);
    if (status != ZR_OK || args->misuse != NULL)
        return status;
    char *copy = zr_copy(value.at, value.length);
    if (copy == NULL) {
        free_telling(&telling->task);
        return ZR_NO_MEMORY;
    }
    replace_value(telling, copy, value.length);
    start(telling, &proclaim_kind, task);
    return ZR_OK;
}

enum zr_status zr_term_ready(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct telling *telling;
    enum zr_status status = new_telling(self, args, &telling);
    if (status != ZR_OK || args->misuse != NULL)
        return status;
    telling->term->ready = true;
    start(telling, &ready_kind, task);
    return ZR_OK;
}

enum zr_status zr_term_tell_rank(struct zr_object *self, struct zr_args *args,
                                 struct zr_task **task)
{
    struct telling *telling;
    enum zr_status status = new_telling(self, args, &telling);
    if (status == ZR_OK && args->misuse == NULL)
        start(telling, &rank_kind, task);
    return status;
}

enum zr_status zr_term_catch_up(struct zr_object *self, struct zr_args *args, struct zr_sink *sink)
{
    struct zr_task *task = NULL;
    struct zr_hold *hold = (struct zr_hold *)self;
    if (hold->state == ZR_HELD && zr_candidate_outdated(&hold->task))
        zr_term_tell_rank(self, args, &task);
    if (task != NULL)
        zr_task_detach(task);
    sink->boolean(sink, NULL, true);
    return ZR_OK;
}
