#include "core/alloc.h"
#include "core/names.h"
#include "core/verb_parts.h"
#include "core/watch.h"

/*
 * Takes a seat and lists its directory, in one round trip:
 * 1. Wait until there is a session: its id is part of the name.
 * 2. Send the create and, behind it, the listing. The server keeps that order, so the listing shows
 *    our own node.
 * 3. Both are answered: done.
 *
 * What can go wrong:
 * - The directory is missing: make it, go to 1.
 * - The answer to the create is lost. After the reconnect, a sync and a listing tell whether the
 *   node is there: its name has our tag, and our session owns it. If it is not there, go to 1.
 * - The node is not in the listing: it was deleted from outside. Go to 1.
 * - The directory's counter is used up (see names.h), so numbers no longer give the order. Give the
 *   seat up, wait until all contenders with a number below the limit have left, then all other
 *   znodes, and delete the directory (the server refuses while it has children); go to 1. A znode
 *   that is not ephemeral may stay for ever: it ends the wait with ZR_CONFLICT.
 * - The directory that is used up has data: a recipe, maybe another one than ours, keeps something
 *   there. Then one multi deletes it and makes it again with its data. Between a delete and a
 *   create another contender could make it with older data.
 *
 * A client that has read the directory before it was made again must not take the new one for the
 * old one: it writes under a condition on the version. So the multi writes the data so often that
 * the new version is higher than the old one, if that takes at most MOST_WRITES writes. Otherwise
 * the new directory begins at version 0, and a late client is mistaken only if MOST_WRITES writes
 * or more were done since it read. A contender that may not write there begins at
 * version 0 too. Version -1 is not compared at all: wait until another client writes.
 */

#define DRAIN_PAUSE_US 100000
#define MOST_WRITES 64

static void begin(struct zr_task *task);
static void go_on(struct zr_task *task);
static void drain(struct zr_task *task);

/* ---- The directory is used up -------------------------------------------------------------- */

/* Also after a lost answer: the listing shows whether the directory was made again. */
static void drain_later(struct zr_task *task)
{
    zr_part_pause(task, DRAIN_PAUSE_US, drain);
}

static void emptied(struct zr_task *task)
{
    switch ((int)task->outcome) {
    case ZR_OK:
    case ZR_NO_NODE:
        begin(task);
        break;
    case ZR_BAD_VERSION:
    case ZR_NOT_EMPTY:
    case ZR_CONNECTION_LOSS:
        drain_later(task);
        break;
    default:
        zr_task_verb_done(task, task->outcome);
    }
}

/* True if the directory was made after the seat that we gave up in it. */
static bool is_new(const struct zr_task *task, const struct zr_stat *dir)
{
    return task->seat->czxid > 0 && dir->czxid > task->seat->czxid;
}

/* Deletes the directory, which had no data at this version. */
static enum zr_status delete_dir(struct zr_task *task, int32_t version)
{
    struct zr_call *call;
    enum zr_status status =
        zr_call_new_full(task->session, ZR_OP_DELETE, task->seat->dir, ZR_NO_DATA, &call);
    if (status != ZR_OK)
        return status;
    call->request.version = version;
    zr_part_send(task, call, emptied);
    return ZR_OK;
}

static void remade(struct zr_task *task);

/* Deletes the directory, which has these data at this version, and makes it again with them. */
static enum zr_status remake(struct zr_task *task, struct zr_bytes data, int32_t version,
                             size_t writes)
{
    struct zr_request parts[MOST_WRITES + 2];
    const char *path = zr_path_inside(task->session->namespace, task->seat->dir);
    parts[0] = (struct zr_request){.op = ZR_OP_DELETE, .path = path, .version = version};
    parts[1] = (struct zr_request){.op = ZR_OP_CREATE, .path = path, .data = {"", 0}};
    for (size_t i = 0; i < writes; i++)
        parts[2 + i] = (struct zr_request){
            .op = ZR_OP_SET, .path = path, .data = {"", 0}, .version = ZR_ANY_VERSION};
    parts[1 + writes].data = data;
    struct zr_call *call;
    enum zr_status status = zr_call_new_multi(task->session, NULL, parts, 2 + writes, &call);
    if (status == ZR_OK)
        zr_part_send(task, call, remade);
    return status;
}

static void remade(struct zr_task *task)
{
    const struct zr_request *multi = &task->call->request;
    size_t last = multi->part_count - 1;
    enum zr_status status = ZR_OK;
    if (task->outcome == ZR_NO_AUTH && last > 1)
        status = remake(task, multi->parts[last].data, multi->parts[0].version, 0);
    else
        emptied(task);
    if (status != ZR_OK)
        zr_part_fail(task, status);
}

static void was_read(struct zr_task *task)
{
    const struct zr_request *read = &task->call->request;
    int32_t version = read->stat.version;
    enum zr_status status = ZR_OK;
    if (task->outcome == ZR_OK && is_new(task, &read->stat))
        begin(task);
    else if (task->outcome == ZR_OK && version != ZR_ANY_VERSION)
        status = remake(task, read->data_reply, version,
                        version >= 0 && version < MOST_WRITES ? (size_t)version + 1 : 0);
    else if (task->outcome == ZR_OK)
        drain_later(task);
    else
        emptied(task);
    if (status != ZR_OK)
        zr_part_fail(task, status);
}

/* The directory is empty. */
static enum zr_status remove_dir(struct zr_task *task)
{
    const struct zr_stat *stat = &task->seats->stat;
    struct zr_call *call;
    if (stat->data_length == 0)
        return delete_dir(task, stat->version);
    enum zr_status status =
        zr_call_new_full(task->session, ZR_OP_GET, task->seat->dir, ZR_NO_DATA, &call);
    if (status == ZR_OK)
        zr_part_send(task, call, was_read);
    return status;
}

static void one_gone(struct zr_task *task)
{
    if (task->outcome == ZR_OK)
        drain(task);
    else
        zr_part_done(task); /* it stays, or must not be read */
}

static enum zr_status await_gone(struct zr_task *task, const char *path)
{
    enum zr_status status = zr_part_await_gone(task, path, NULL);
    if (status == ZR_OK)
        zr_part_begin(task, one_gone);
    return status;
}

static enum zr_status await_last(struct zr_task *task)
{
    char *path = zr_path_child(task->seat->dir, task->seats->at[task->seats->count - 1].name);
    enum zr_status status = path != NULL ? await_gone(task, path) : ZR_NO_MEMORY;
    zr_free(path);
    return status;
}

static enum zr_status blame(struct zr_task *task, const char *path)
{
    const char *namespace = task->session->namespace;
    zr_task_explain(task,
                    "the sequence numbers of %s are used up, so it must be emptied and made again; "
                    "but the znode %s is not ephemeral, so no session's end deletes it; delete it",
                    zr_path_inside(namespace, task->seat->dir), zr_path_inside(namespace, path));
    return ZR_CONFLICT;
}

static void rest_read(struct zr_task *task)
{
    const struct zr_request *read = &task->call->request;
    enum zr_status status = task->outcome;
    if (status == ZR_NO_NODE || status == ZR_CONNECTION_LOSS) {
        drain(task);
        return;
    }
    if (status == ZR_OK && read->stat.ephemeral_owner == 0)
        status = blame(task, read->path);
    else if (status == ZR_OK)
        status = await_gone(task, read->path);
    if (status != ZR_OK)
        zr_part_fail(task, status);
}

/* Contenders whose number is not usable come and go; so any other znode, if there is one. */
static const char *one_of_the_rest(const struct zr_task *task)
{
    const struct zr_names *names = task->seats->names;
    for (size_t i = 0; i < names->count; i++)
        if (!zr_is_usual(task->session->engine->recipes, names->at[i]))
            return names->at[i];
    return names->at[0];
}

/* No contender with a usable number is left, but other znodes are. */
static enum zr_status await_rest(struct zr_task *task)
{
    struct zr_call *call = NULL;
    char *path = zr_path_child(task->seat->dir, one_of_the_rest(task));
    enum zr_status status = ZR_NO_MEMORY;
    if (path != NULL)
        status = zr_call_new_full(task->session, ZR_OP_EXISTS, path, ZR_NO_DATA, &call);
    zr_free(path);
    if (status == ZR_OK)
        zr_part_send(task, call, rest_read);
    return status;
}

static void drain_listed(struct zr_task *task)
{
    enum zr_status status = task->outcome;
    if (status == ZR_NO_NODE || (status == ZR_OK && is_new(task, &task->seats->stat))) {
        begin(task);
        return;
    }
    if (status == ZR_OK && task->seats->count > 0)
        status = await_last(task);
    else if (status == ZR_OK && task->seats->names->count > 0)
        status = await_rest(task);
    else if (status == ZR_OK)
        status = remove_dir(task);
    if (status != ZR_OK)
        zr_part_fail(task, status);
}

static void drain(struct zr_task *task)
{
    zr_part_list(task, task->seat->dir, drain_listed);
}

/* ---- Contending ---------------------------------------------------------------------------- */

static void begin(struct zr_task *task)
{
    struct zr_seat *seat = task->seat;
    if (!zr_part_connected(task, begin))
        return;
    task->resume = go_on;
    enum zr_status status = zr_seat_create(seat, task);
    if (status == ZR_OK)
        status = zr_listing_ask(task, seat->dir);
    if (status != ZR_OK)
        zr_part_fail(task, status);
}

static void taken(struct zr_task *task)
{
    struct zr_seat *seat = task->seat;
    if (seat->sequence < 0 || seat->sequence >= ZR_SEQUENCE_LIMIT)
        zr_part_vacate(task, drain);
    else if (task->outcome != ZR_OK && task->outcome != ZR_NO_NODE)
        zr_task_verb_done(task, task->outcome);
    else if (task->outcome == ZR_NO_NODE || zr_seat_index(seat, task->seats) < 0) {
        zr_seat_gone(seat);
        begin(task);
    } else
        zr_task_verb_done(task, ZR_OK);
}

/* This listing is older than the answer that says that the node is ours: request another one. */
static void found(struct zr_task *task)
{
    if (task->seat->state != ZR_SEAT_TAKEN)
        go_on(task);
    else
        zr_part_list(task, task->seat->dir, go_on);
}

static void go_on(struct zr_task *task)
{
    switch (task->seat->state) {
    case ZR_SEAT_NONE:
        zr_part_refused(task, begin, drain);
        break;
    case ZR_SEAT_UNSURE:
        zr_part_find(task, found);
        break;
    case ZR_SEAT_TAKEN:
        taken(task);
        break;
    case ZR_SEAT_CONTENDING: /* the listing failed before it was sent */
        zr_task_verb_done(task, task->outcome);
        break;
    }
}

void zr_verb_contend(struct zr_task *task, struct zr_seat *seat, struct zr_next next)
{
    task->next = next;
    task->seat = seat;
    begin(task);
}
