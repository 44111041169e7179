#include <inttypes.h>
#include <stdio.h>

#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/semaphore.h"

/*
 * The limit of a semaphore: how it is known, `available`, and `resize`.
 *
 * It is read once and then known, together with the zxid that wrote it; every listing brings the
 * directory's stat, which tells whether that one was still in force. A listing and a limit that go
 * together in this way are what everybody saw at one instant.
 *
 * resize:
 * 1. Read what is stored. The same already: done. Larger: write it (unless somebody else did
 *    meanwhile: begin anew); done.
 * 2. Smaller: write it with a note that anybody may have been granted under the earlier one.
 * 3. List: only those who are there now may. Write the note with the last of their numbers; if
 *    somebody has changed the limit meanwhile, it is his to write.
 *
 * What can go wrong: it ends between 2 and 3. Then more of those who wait watch the holders than
 * need to, until the next resize, and nothing worse.
 */

/* ---- Knowing it ---------------------------------------------------------------------------- */

static void keep(struct zr_semaphore *semaphore, const struct zr_room *room, int32_t version)
{
    semaphore->room = *room;
    semaphore->data.bytes = zr_room_write(room, semaphore->text);
    semaphore->data.version = version;
}

void zr_limit_give(struct zr_semaphore *semaphore, int64_t limit)
{
    semaphore->given = limit;
    semaphore->known = false;
    keep(semaphore, &(struct zr_room){limit, 0, ZR_ROOM_ALL}, ZR_ANY_VERSION);
}

int64_t zr_limit_last(const struct zr_semaphore *semaphore)
{
    return semaphore->room.limit;
}

static void note_stat(struct zr_limit_read *read, const struct zr_stat *stat)
{
    read->mzxid = stat->mzxid;
    read->pzxid = stat->pzxid;
    read->cversion = stat->cversion;
    read->child_count = stat->child_count;
}

static void asked(struct zr_call *call)
{
    struct zr_limit_read *read = call->owner;
    struct zr_semaphore *semaphore = read->semaphore;
    const struct zr_request *request = &call->request;
    struct zr_room room;
    read->call = NULL;
    if (request->status == ZR_OK) {
        note_stat(read, &request->stat);
        semaphore->mzxid = request->stat.mzxid;
        semaphore->known = true;
        semaphore->readable = zr_room_read(request->data_reply, &room);
        if (semaphore->readable)
            keep(semaphore, &room, request->stat.version);
    } else if (request->status != ZR_NO_NODE && request->status != ZR_CONNECTION_LOSS) {
        read->refused = request->status;
    }
    zr_call_free(call);
}

void zr_limit_forget(struct zr_limit_read *read)
{
    zr_call_free(read->call);
    read->call = NULL;
}

enum zr_status zr_limit_ask(struct zr_limit_read *read)
{
    struct zr_contest *contest = &read->semaphore->contest;
    zr_limit_forget(read);
    read->refused = ZR_OK;
    read->mzxid = 0;
    enum zr_status status =
        zr_call_new_full(contest->session, ZR_OP_GET, contest->dir, ZR_NO_DATA, &read->call);
    if (status == ZR_OK)
        zr_call_start(read->call, asked, read);
    return status;
}

enum zr_limit_verdict zr_limit_judge(struct zr_limit_read *read, const struct zr_seats *seats)
{
    struct zr_semaphore *semaphore = read->semaphore;
    if (read->refused != ZR_OK)
        return ZR_LIMIT_REFUSED;
    if (!semaphore->known || semaphore->mzxid != seats->stat.mzxid) {
        semaphore->known = false;
        return ZR_LIMIT_UNKNOWN;
    }
    bool other = semaphore->given > 0 && semaphore->given != semaphore->room.limit;
    if (!semaphore->readable || (other && !semaphore->agreed))
        return ZR_LIMIT_CONFLICT;
    semaphore->agreed = true;
    return ZR_LIMIT_STANDS;
}

#define DETAIL 160

void zr_limit_conflict(struct zr_task *task, const struct zr_semaphore *semaphore, int64_t permits,
                       char **detail)
{
    zr_free(*detail);
    *detail = zr_alloc(DETAIL);
    task->detail = "the limit that is stored does not go with it";
    if (*detail != NULL)
        task->detail = *detail;
    if (*detail != NULL && permits > 0)
        snprintf(*detail, DETAIL,
                 "it asks for %" PRId64 " permits, but the limit is %" PRId64
                 "; it would wait for ever",
                 permits, semaphore->room.limit);
    else if (*detail != NULL && semaphore->readable)
        snprintf(*detail, DETAIL,
                 "it was opened with the limit %" PRId64 ", but %" PRId64
                 " is stored; resize it, or leave the limit out",
                 semaphore->given, semaphore->room.limit);
    else if (*detail != NULL)
        snprintf(*detail, DETAIL, "the data of the znode are no limit; resize it");
    zr_verb_fail(task, ZR_CONFLICT);
}

/* ---- available ----------------------------------------------------------------------------- */

struct job {
    struct zr_task task;
    struct zr_object *self; /* counted: the semaphore */
    struct zr_limit_read read;
    int64_t limit;       /* resize: the new one */
    struct zr_room room; /* resize: to be written */
    int32_t version;     /* ... over this one */
    char text[ZR_ROOM_TEXT];
    char *parent; /* being made */
    int64_t available;
    char *detail;
};

static struct job *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct job, task);
}

static struct zr_semaphore *semaphore_of(struct zr_task *task)
{
    return of(task)->read.semaphore;
}

static void look(struct zr_task *task);

static int64_t available(const struct zr_room *room, const struct zr_seats *seats)
{
    int64_t held = 0;
    for (size_t i = 0; i < seats->count && zr_room_may_hold(room, seats, i); i++)
        held += seats->at[i].permits;
    return held < room->limit ? room->limit - held : 0;
}

static void looked(struct zr_task *task)
{
    struct job *job = of(task);
    struct zr_semaphore *semaphore = semaphore_of(task);
    if (task->seats == NULL && semaphore->given == 0) {
        zr_limit_missing(task);
        return;
    }
    if (task->seats == NULL) {
        job->available = semaphore->given;
        zr_task_finish(task, ZR_OK);
        return;
    }
    switch (zr_limit_judge(&job->read, task->seats)) {
    case ZR_LIMIT_STANDS:
        job->available = available(&semaphore->room, task->seats);
        zr_task_finish(task, ZR_OK);
        break;
    case ZR_LIMIT_UNKNOWN:
        look(task);
        break;
    case ZR_LIMIT_REFUSED:
        zr_verb_fail(task, job->read.refused);
        break;
    case ZR_LIMIT_CONFLICT:
        zr_limit_conflict(task, semaphore, 0, &job->detail);
    }
}

static void look(struct zr_task *task)
{
    struct zr_semaphore *semaphore = semaphore_of(task);
    enum zr_status status = semaphore->known ? ZR_OK : zr_limit_ask(&of(task)->read);
    if (status == ZR_OK)
        zr_verb_list(task, semaphore->contest.dir, ZR_STEP(looked));
    else
        zr_verb_fail(task, status);
}

static void emit_available(struct zr_task *task, struct zr_sink *sink)
{
    sink->integer(sink, NULL, of(task)->available);
}

static void free_job(struct zr_task *task)
{
    struct job *job = of(task);
    struct zr_object *self = job->self;
    zr_limit_forget(&job->read);
    zr_free(job->detail);
    zr_free(job->parent);
    zr_free(job);
    zr_object_unref(self);
}

static const struct zr_task_kind available_kind = {.name = "semaphore:available",
                                                   .late = ZR_CONNECTION_LOSS,
                                                   .results = emit_available,
                                                   .free = free_job};

static enum zr_status start_job(struct zr_object *self, const struct zr_task_kind *kind,
                                int64_t limit, struct zr_next first, struct zr_task **task)
{
    struct zr_contest *contest = (struct zr_contest *)self;
    enum zr_status status = zr_session_usable(contest->session);
    if (status != ZR_OK)
        return status;
    struct job *job = zr_alloc(sizeof(*job));
    if (job == NULL)
        return ZR_NO_MEMORY;
    job->self = zr_object_ref(self);
    job->read.semaphore = (struct zr_semaphore *)self;
    job->limit = limit;
    *task = &job->task;
    zr_task_start(*task, kind, contest->session, contest->path,
                  zr_session_patience_us(contest->session), first);
    return ZR_OK;
}

enum zr_status zr_semaphore_available(struct zr_object *self, struct zr_args *args,
                                      struct zr_task **task)
{
    (void)args;
    return start_job(self, &available_kind, 0, ZR_STEP(look), task);
}

/* ---- resize -------------------------------------------------------------------------------- */

static void read_stored(struct zr_task *task);

static void request(struct zr_task *task, enum zr_op op, struct zr_next next)
{
    struct job *job = of(task);
    struct zr_call *call;
    enum zr_status status = zr_call_new_full(
        task->session, op, semaphore_of(task)->contest.dir,
        op == ZR_OP_GET ? ZR_NO_DATA : zr_room_write(&job->room, job->text), &call);
    if (status != ZR_OK) {
        zr_verb_fail(task, status);
        return;
    }
    call->request.version = op == ZR_OP_SET ? job->version : ZR_ANY_VERSION;
    zr_verb_request(task, call, op != ZR_OP_SET, next);
}

static void resized(struct zr_task *task)
{
    zr_limit_give(semaphore_of(task), of(task)->limit);
    semaphore_of(task)->agreed = true;
    zr_task_finish(task, ZR_OK);
}

static void note_written(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_BAD_VERSION || task->outcome == ZR_NO_NODE)
        resized(task);
    else if (task->outcome == ZR_CONNECTION_LOSS)
        read_stored(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void note_until(struct zr_task *task)
{
    struct job *job = of(task);
    const struct zr_seats *seats = task->seats;
    if (seats == NULL || seats->count == 0)
        job->room.earlier = 0;
    else
        job->room.until = seats->at[seats->count - 1].sequence;
    request(task, ZR_OP_SET, ZR_STEP(note_written));
}

/* It is written; who may have been granted under a higher one? */
static void settle(struct zr_task *task)
{
    const struct zr_room *room = &of(task)->room;
    if (room->earlier > 0 && room->until == ZR_ROOM_ALL)
        zr_verb_list(task, semaphore_of(task)->contest.dir, ZR_STEP(note_until));
    else
        resized(task);
}

static void written(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (status == ZR_OK) {
        of(task)->version = task->call->request.stat.version;
        settle(task);
    } else if (status == ZR_BAD_VERSION || status == ZR_NO_NODE || status == ZR_CONNECTION_LOSS) {
        read_stored(task);
    } else {
        zr_verb_fail(task, status);
    }
}

static void made(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_NODE_EXISTS || task->outcome == ZR_NO_NODE)
        read_stored(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void make_directory(struct zr_task *task)
{
    of(task)->room = (struct zr_room){of(task)->limit, 0, ZR_ROOM_ALL};
    request(task, ZR_OP_CREATE, ZR_STEP(made));
}

static void make_parent(struct zr_task *task)
{
    struct job *job = of(task);
    const char *dir = semaphore_of(task)->contest.dir;
    zr_free(job->parent);
    job->parent = zr_copy(dir, zr_path_parent_length(dir));
    if (job->parent != NULL)
        zr_verb_ensure(task, job->parent, true, ZR_STEP(make_directory));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void was_read(struct zr_task *task)
{
    struct job *job = of(task);
    struct zr_room stored;
    if (task->outcome == ZR_NO_NODE) {
        make_parent(task);
        return;
    }
    if (task->outcome != ZR_OK) {
        zr_verb_fail(task, task->outcome);
        return;
    }
    const struct zr_request *answer = &task->call->request;
    job->version = answer->stat.version;
    bool good = zr_room_read(answer->data_reply, &stored);
    job->room = zr_room_resized(&stored, job->limit);
    if (good && job->room.limit == stored.limit && job->room.earlier == stored.earlier)
        settle(task);
    else
        request(task, ZR_OP_SET, ZR_STEP(written));
}

static void read_stored(struct zr_task *task)
{
    request(task, ZR_OP_GET, ZR_STEP(was_read));
}

static void emit_true(struct zr_task *task, struct zr_sink *sink)
{
    (void)task;
    sink->boolean(sink, NULL, true);
}

static const struct zr_task_kind resize_kind = {
    .name = "semaphore:resize", .late = ZR_CONNECTION_LOSS, .results = emit_true, .free = free_job};

enum zr_status zr_semaphore_resize(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task)
{
    if (args->at[0].integer < 1) {
        args->misuse = "the limit must be at least 1";
        return ZR_OK;
    }
    return start_job(self, &resize_kind, args->at[0].integer, ZR_STEP(read_stored), task);
}
