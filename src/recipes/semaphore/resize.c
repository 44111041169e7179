#include "core/alloc.h"
#include "core/names.h"
#include "core/verbs.h"
#include "recipes/semaphore/semaphore.h"

/*
 * semaphore:resize(limit):
 * 1. Read the stored limit. If the new one is not smaller: write it; done.
 * 2. If it is smaller: write it with a note that any seat may have been granted under the earlier
 *    limit.
 * 3. List: only the seats that are there now may have been. Write the note with the last of their
 *    numbers. If another client has changed the limit meanwhile, that client writes the note.
 *
 * It also writes the limit that is stored already. There are two reasons. A server that lags behind
 * may show this limit although another client has changed it since. And a resize that failed may
 * have sent a write that is still on its way; it is conditional on the version that was read, so it
 * is refused after ours.
 *
 * What can go wrong:
 * - The server refuses the write, because another client has written since the read, or the answer
 *   is lost: sync, so that the next read is not as old as the last one, and go to 1.
 * - Contenders make the directory again (core/contend.c): it gets a higher version, so a limit that
 *   was not read is not overwritten. (After 64 writes it does not: then a write goes through that
 * is late by 64 writes.)
 * - It ends between 2 and 3. Then more waiters than necessary watch the holders, until the next
 *   resize; nothing worse.
 * - It fails after a write was sent: then the limit may be stored, and the message says so.
 * - After 2^32 writes the version is -1, which the server does not compare, so two clients that
 *   resize would not see each other's write. From there on no client writes; a note may be missing
 *   as above.
 */

struct resize {
    struct zr_task task;
    struct zr_semaphore *semaphore; /* counted */
    int64_t limit;                  /* the new one */
    struct zr_capacity capacity;    /* to be written ... */
    int32_t version;                /* ... over this one ... */
    int64_t czxid;                  /* ... of the directory that was made then */
    char text[ZR_CAPACITY_TEXT];    /* of capacity */
    char *parent;                   /* being made */
};

static struct resize *of(struct zr_task *task)
{
    return ZR_HOLDER(task, struct resize, task);
}

static const char *dir_of(struct zr_task *task)
{
    return of(task)->semaphore->contest.dir;
}

static void look_again(struct zr_task *task);

static void request(struct zr_task *task, enum zr_op op, struct zr_next next)
{
    struct resize *resize = of(task);
    struct zr_request what = {.op = op, .path = dir_of(task), .version = resize->version};
    what.data = zr_capacity_write(&resize->capacity, resize->text);
    zr_verb_ask(task, &what, false, next);
}

static void resized(struct zr_task *task)
{
    zr_limit_give(of(task)->semaphore, of(task)->limit);
    of(task)->semaphore->agreed = true;
    zr_task_finish(task, ZR_OK);
}

/* For a write that was answered: from now on the limit may be stored. */
static void note_doubt(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_CONNECTION_LOSS)
        task->doubtful = true;
}

static void note_written(struct zr_task *task);

/* If this is done twice, the second time is refused. */
static void write_note(struct zr_task *task)
{
    request(task, ZR_OP_SET, ZR_STEP(note_written));
}

static void note_written(struct zr_task *task)
{
    if (task->outcome == ZR_OK || task->outcome == ZR_BAD_VERSION || task->outcome == ZR_NO_NODE)
        resized(task);
    else if (task->outcome == ZR_CONNECTION_LOSS)
        write_note(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void note_until(struct zr_task *task)
{
    struct resize *resize = of(task);
    const struct zr_seats *seats = task->seats;
    if (seats == NULL || seats->stat.czxid != resize->czxid) {
        resized(task); /* it was made again, so no such seat is left */
        return;
    }
    if (seats->count == 0)
        resize->capacity.earlier = 0;
    else
        resize->capacity.until = seats->at[seats->count - 1].sequence;
    write_note(task);
}

/* The limit is written. Which seats may have been granted under a higher one? */
static void settle(struct zr_task *task)
{
    const struct zr_capacity *capacity = &of(task)->capacity;
    bool noted = capacity->earlier == 0 || capacity->until != ZR_CAPACITY_ALL;
    if (!noted && of(task)->version != ZR_ANY_VERSION)
        zr_verb_list(task, dir_of(task), ZR_STEP(note_until));
    else
        resized(task);
}

static void written(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    note_doubt(task);
    if (status == ZR_OK) {
        of(task)->version = task->call->request.stat.version;
        settle(task);
    } else if (status == ZR_BAD_VERSION || status == ZR_NO_NODE || status == ZR_CONNECTION_LOSS) {
        look_again(task);
    } else {
        zr_verb_fail(task, status);
    }
}

static void made(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    note_doubt(task);
    if (status == ZR_OK)
        resized(task);
    else if (status == ZR_NODE_EXISTS || status == ZR_NO_NODE || status == ZR_CONNECTION_LOSS)
        look_again(task);
    else
        zr_verb_fail(task, status);
}

static void make_directory(struct zr_task *task)
{
    of(task)->capacity = (struct zr_capacity){of(task)->limit, 0, ZR_CAPACITY_ALL};
    request(task, ZR_OP_CREATE, ZR_STEP(made));
}

static void make_parent(struct zr_task *task)
{
    struct resize *resize = of(task);
    const char *dir = dir_of(task);
    zr_free(resize->parent);
    resize->parent = zr_copy(dir, zr_path_parent_length(dir));
    if (resize->parent != NULL)
        zr_verb_ensure(task, resize->parent, true, ZR_STEP(make_directory));
    else
        zr_verb_fail(task, ZR_NO_MEMORY);
}

static void wrapped(struct zr_task *task)
{
    task->detail = "the znode is at version -1, which a server does not compare; write its data "
                   "once more by hand while no client resizes the semaphore";
    zr_verb_fail(task, ZR_BAD_VERSION);
}

/* The stored limit was read. */
static void write_over(struct zr_task *task)
{
    struct resize *resize = of(task);
    const struct zr_request *answer = &task->call->request;
    struct zr_capacity stored;
    zr_capacity_read(answer->data_reply, &stored);
    resize->capacity = zr_capacity_resized(&stored, resize->limit);
    resize->version = answer->stat.version;
    resize->czxid = answer->stat.czxid;
    if (resize->version == ZR_ANY_VERSION)
        wrapped(task);
    else
        request(task, ZR_OP_SET, ZR_STEP(written));
}

static void was_read(struct zr_task *task)
{
    if (task->outcome == ZR_NO_NODE)
        make_parent(task);
    else if (task->outcome == ZR_OK)
        write_over(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void read_stored(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_GET, dir_of(task), false, ZR_STEP(was_read));
}

static void synced(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        read_stored(task);
    else
        zr_verb_fail(task, task->outcome);
}

static void look_again(struct zr_task *task)
{
    zr_verb_read(task, ZR_OP_SYNC, dir_of(task), false, ZR_STEP(synced));
}

static void free_resize(struct zr_task *task)
{
    struct resize *resize = of(task);
    struct zr_object *semaphore = &resize->semaphore->contest.object;
    zr_free(resize->parent);
    zr_free(resize);
    zr_object_unref(semaphore);
}

static const struct zr_task_kind kind = {
    .name = "semaphore:resize", .writes = true, .results = zr_emit_true, .free = free_resize};

enum zr_status zr_semaphore_resize(struct zr_object *self, struct zr_args *args,
                                   struct zr_task **task)
{
    const struct zr_contest *contest = (struct zr_contest *)self;
    enum zr_status status = zr_session_usable(contest->session);
    if (args->at[0].integer < 1)
        args->misuse = "the limit must be at least 1";
    if (status != ZR_OK || args->misuse != NULL)
        return status;
    struct resize *resize = zr_alloc(sizeof(*resize));
    if (resize == NULL)
        return ZR_NO_MEMORY;
    resize->semaphore = (struct zr_semaphore *)zr_object_ref(self);
    resize->limit = args->at[0].integer;
    *task = &resize->task;
    zr_task_start(*task, &kind, contest->session, contest->path,
                  zr_session_limit_us(contest->session, &args->at[1]), ZR_STEP(read_stored));
    return ZR_OK;
}
