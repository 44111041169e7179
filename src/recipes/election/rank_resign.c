#include <string.h>

#include "core/alloc.h"
#include "core/names.h"
#include "recipes/election/rank.h"

/*
 * term:resign(successor), by rank:
 * 1. Read the directory.
 * 2. Write the successor's name behind our own, together with the token and the time that this
 *    write would hide, on three conditions: no client has written since, our seat exists, and so
 *    does the successor's.
 * 3. Resign. While the successor stands, it counts as the best (rank_best.c).
 *
 * What can go wrong: another client has written meanwhile, or the answer is lost: go to 1; writing
 * twice does no harm. The directory names another one: the term is lost. The caller gives up: a
 * task in the background removes the name. It retries until the removal is certain or the term is
 * over.
 */

#define PAUSE_US 100000

struct naming {
    struct zr_task task;
    struct zr_hold *term; /* counted */
    struct zr_named named;
    bool sent, doubtful;  /* a write may have named the successor; its answer is lost */
    uint16_t connections; /* of the session when the sync was sent */
    char heir[ZR_RANK_NAME];
};

static void read_directory(struct zr_task *task);

static struct naming *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct naming, task);
}

static const char *own_name(const struct naming *naming)
{
    return zr_candidate_name((const struct zr_candidate *)naming->term);
}

static void over(struct zr_task *task)
{
    task->detail = "the term is over";
    zr_verb_fail(task, ZR_LOST);
}

static void no_candidate(struct zr_task *task)
{
    task->detail = "the successor is no longer a candidate";
    zr_verb_fail(task, ZR_NO_NODE);
}

/* Makes the write over this version. heir "": it removes the name. */
static enum zr_status new_write(struct zr_task *task, int32_t version, const char *heir,
                                struct zr_call **call)
{
    struct naming *naming = of(task);
    const struct zr_seat *seat = &naming->term->seat;
    char text[ZR_NAMED_TEXT];
    strcpy(naming->named.leader, own_name(naming));
    strcpy(naming->named.heir, heir);
    char *path = zr_path_child(seat->dir, naming->heir);
    if (path == NULL)
        return ZR_NO_MEMORY;
    const struct zr_request parts[] = {
        {.op = ZR_OP_SET,
         .path = zr_path_inside(task->session->namespace, seat->dir),
         .data = zr_named_write(&naming->named, text),
         .version = version},
        {.op = ZR_OP_CHECK,
         .path = zr_path_inside(task->session->namespace, path),
         .version = ZR_ANY_VERSION},
    };
    enum zr_status status =
        zr_call_new_multi(task->session, seat->path, parts, heir[0] != '\0' ? 2 : 1, call);
    zr_free(path);
    if (status != ZR_OK)
        return status;
    (*call)->bound = true;
    (*call)->generation = seat->generation;
    return ZR_OK;
}

/* ---- Naming -------------------------------------------------------------------------------- */

/* One of the znodes is missing. */
static void missing(struct zr_task *task)
{
    const struct zr_request *parts = task->call->request.parts;
    if (parts[0].status == ZR_NO_NODE)
        zr_hold_lost(of(task)->term);
    if (parts[0].status == ZR_NO_NODE || parts[1].status == ZR_NO_NODE)
        over(task);
    else
        no_candidate(task);
}

static void named(struct zr_task *task)
{
    struct naming *naming = of(task);
    bool lost = task->outcome == ZR_CONNECTION_LOSS || task->outcome == ZR_NO_MEMORY;
    naming->doubtful = naming->doubtful || lost;
    naming->sent = naming->doubtful;
    if (task->outcome == ZR_OK) {
        zr_term_resign(zr_term_of(naming->term));
        zr_task_finish(task, ZR_OK);
    } else if (lost || task->outcome == ZR_BAD_VERSION) {
        read_directory(task);
    } else if (task->outcome == ZR_NO_NODE) {
        missing(task);
    } else {
        zr_verb_fail(task, task->outcome);
    }
}

/* The attendant would read what is written now. */
static void name(struct zr_task *task)
{
    struct naming *naming = of(task);
    struct zr_call *call;
    naming->named = zr_named_read(&task->call->request);
    enum zr_status status = new_write(task, task->call->request.stat.version, naming->heir, &call);
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    zr_task_interrupt(&((struct zr_candidate *)naming->term)->attendant, ZR_CANCELED);
    naming->sent = true;
    zr_verb_request(task, call, false, ZR_STEP(named));
}

static void was_read(struct zr_task *task)
{
    struct naming *naming = of(task);
    enum zr_status status = task->outcome;
    if (status == ZR_OK && !zr_rank_names(naming->term, &task->call->request))
        zr_hold_deposed(naming->term);
    if (naming->term->state != ZR_HELD || status == ZR_NO_NODE) {
        over(task);
    } else if (status != ZR_OK) {
        zr_verb_fail(task, status);
    } else if (task->call->request.stat.version == ZR_ANY_VERSION) {
        task->detail = ZR_RANK_WRAPPED;
        zr_verb_fail(task, ZR_BAD_VERSION);
    } else {
        name(task);
    }
}

static void read_directory(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_GET, of(task)->term->seat.dir, false, ZR_STEP(was_read));
}

/* ---- Taking it back ------------------------------------------------------------------------ */

static void take_back(struct zr_task *task);

static void take_back_later(struct zr_task *task)
{
    zr_verb_pause(task, PAUSE_US, ZR_STEP(take_back));
}

static bool is_over(enum zr_status status)
{
    return status == ZR_NO_NODE || status == ZR_LOST || status == ZR_CLOSED;
}

static void taken_back(struct zr_task *task)
{
    if (task->outcome == ZR_OK || is_over(task->outcome))
        zr_task_finish(task, ZR_OK);
    else if (task->outcome == ZR_CONNECTION_LOSS || task->outcome == ZR_BAD_VERSION)
        take_back(task);
    else
        take_back_later(task);
}

/* Over another connection than that of the sync, a read may show what was before the write. */
static bool is_behind_sync(struct zr_task *task)
{
    return task->outcome == ZR_OK && of(task)->connections == task->session->connections;
}

static void read_again(struct zr_task *task)
{
    struct naming *naming = of(task);
    struct zr_call *call;
    if (is_over(task->outcome)) {
        zr_task_finish(task, ZR_OK);
        return;
    }
    if (!is_behind_sync(task)) {
        take_back_later(task);
        return;
    }
    naming->named = zr_named_read(&task->call->request);
    bool ours = strcmp(naming->named.heir, naming->heir) == 0 &&
                strcmp(naming->named.leader, own_name(naming)) == 0;
    if (!ours)
        zr_task_finish(task, ZR_OK);
    else if (new_write(task, task->call->request.stat.version, "", &call) == ZR_OK)
        zr_verb_request(task, call, false, ZR_STEP(taken_back));
    else
        take_back_later(task);
}

static void ask(struct zr_task *task, enum zr_op op, struct zr_next next)
{
    if (zr_verb_try_read(task, op, of(task)->term->seat.dir, false, next) != ZR_OK)
        take_back_later(task);
}

static void synced(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        ask(task, ZR_OP_GET, ZR_STEP(read_again));
    else if (is_over(task->outcome))
        zr_task_finish(task, ZR_OK);
    else
        take_back_later(task);
}

/* The write may be on its way to the server that is asked: sync first. */
static void take_back(struct zr_task *task)
{
    of(task)->connections = task->session->connections;
    if (of(task)->sent && of(task)->term->state == ZR_HELD)
        ask(task, ZR_OP_SYNC, ZR_STEP(synced));
    else
        zr_task_finish(task, ZR_OK);
}

/* ---- The method ---------------------------------------------------------------------------- */

static void free_naming(struct zr_task *task)
{
    struct naming *naming = of(task);
    struct zr_object *term = &naming->term->object;
    if (naming->term->state == ZR_HELD)
        zr_rank_attend((struct zr_candidate *)naming->term);
    zr_free(naming);
    zr_object_unref(term);
}

/* Behind other names the directory's data could not be read again. */
static bool may_be_named(const char *name)
{
    return name[0] != '\0' && strlen(name) < ZR_RANK_NAME && strcspn(name, " \n") == strlen(name);
}

static const struct zr_task_kind kind = {.name = "term:resign",
                                         .clean = take_back,
                                         .bound = true,
                                         .writes = true,
                                         .results = zr_emit_true,
                                         .free = free_naming};

enum zr_status zr_rank_resign(struct zr_object *self, struct zr_args *args, struct zr_task **task)
{
    struct zr_hold *term = (struct zr_hold *)self;
    enum zr_status status = zr_session_usable(term->session);
    if (status != ZR_OK)
        return status;
    struct naming *naming = zr_alloc(sizeof(*naming));
    if (naming == NULL)
        return ZR_NO_MEMORY;
    naming->term = term;
    zr_object_ref(self);
    bool name = may_be_named(args->at[0].bytes.at);
    if (name)
        strcpy(naming->heir, args->at[0].bytes.at);
    *task = &naming->task;
    zr_task_start(*task, &kind, term->session,
                  zr_path_inside(term->session->namespace, term->seat.path),
                  args->at[1].given ? args->at[1].integer : -1,
                  name ? ZR_STEP(read_directory) : ZR_STEP(no_candidate));
    return ZR_OK;
}
