#include "core/seat.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/ephemerals.h"
#include "core/names.h"
#include "core/task.h"

/*
 * NONE -> CONTENDING -> TAKEN -> NONE, or over UNSURE if the answer to the create was lost.
 *
 * The create belongs to the seat, not to the task that asked for it. If the task is interrupted,
 * the answer still arrives here, and the clean-up knows what it has to remove.
 *
 * In a queue the name is "<session id>-<counter>-<stem><number>". It is unique for every attempt,
 * so a lost create is found again, and a node of an earlier session is never taken for ours. Other
 * clients can make such names, too: the node is ours only if our session owns it. It sorts
 * correctly beside Curator's contenders.
 *
 * Without a queue, all contenders use the same name. The owner of the node tells which session has
 * it. Two seats of one session never try at the same time: a seat that finds another one with
 * zr_seat_find waits until that one is gone.
 */

void zr_seat_init(struct zr_seat *seat, struct zr_session *session, const char *dir,
                  const struct zr_stem *stem, struct zr_bytes data)
{
    *seat = (struct zr_seat){
        .session = session, .dir = dir, .stem = stem, .data = data, .sequence = -1};
    zr_signal_init(&seat->gone);
}

/* The path stays, for messages. */
static void forget_node(struct zr_seat *seat)
{
    zr_call_free(seat->call);
    seat->call = NULL;
    if (seat->counted)
        zr_ephemerals_give(seat->session, zr_ephemeral_bytes(seat->prefix));
    seat->counted = false;
    if (seat->in_session.key != NULL)
        zr_table_remove(&seat->session->seats, &seat->in_session);
    seat->in_session.key = NULL;
}

void zr_seat_fini(struct zr_seat *seat)
{
    forget_node(seat);
    zr_free(seat->path);
}

/* ---- Contending ---------------------------------------------------------------------------- */

static enum zr_status make_fixed_path(struct zr_seat *seat)
{
    if (seat->path == NULL)
        seat->path = zr_copy_string(seat->dir);
    if (seat->path == NULL)
        return ZR_NO_MEMORY;
    seat->prefix = strlen(seat->path);
    return zr_table_add(&seat->session->seats, &seat->in_session, seat->path);
}

static enum zr_status make_path(struct zr_seat *seat)
{
    if (seat->stem == NULL)
        return make_fixed_path(seat);
    const char *dir = strlen(seat->dir) == 1 ? "" : seat->dir;
    const char *note = seat->note != NULL ? seat->note : "";
    size_t size =
        strlen(dir) + ZR_TAG + sizeof("/--2147483648") + strlen(note) + strlen(seat->stem->text);
    char tag[ZR_TAG];
    zr_free(seat->path);
    seat->path = zr_alloc(size);
    if (seat->path == NULL)
        return ZR_NO_MEMORY;
    zr_session_tag(seat->session, seat->session->id, tag);
    seat->prefix =
        (size_t)snprintf(seat->path, size, "%s/%s-%s%s", dir, tag, note, seat->stem->text);
    return ZR_OK;
}

/* seat->path is the path of the node. Errors: ZR_NO_MEMORY. */
static enum zr_status take(struct zr_seat *seat)
{
    if (seat->stem != NULL)
        seat->sequence = zr_sequence(seat->path, seat->stem->text);
    if (seat->in_session.key == NULL &&
        zr_table_add(&seat->session->seats, &seat->in_session, seat->path) != ZR_OK) {
        seat->path[seat->prefix] = '\0';
        return ZR_NO_MEMORY;
    }
    seat->state = ZR_SEAT_TAKEN;
    return ZR_OK;
}

static void created(struct zr_call *call)
{
    struct zr_seat *seat = call->owner;
    const struct zr_request *request = &call->request;
    seat->call = NULL;
    seat->refused = ZR_OK;
    if (request->status == ZR_OK) {
        seat->czxid = request->stat.czxid;
        strcpy(seat->path + seat->prefix, request->created + seat->prefix);
        /* Without memory the seat is as good as unsure: the listing that settles it will tell. */
        if (take(seat) != ZR_OK)
            seat->state = ZR_SEAT_UNSURE;
    } else if (request->sent && request->status == ZR_CONNECTION_LOSS) {
        seat->state = ZR_SEAT_UNSURE;
    } else {
        seat->refused = request->status;
    }
    zr_call_free(call);
    if (seat->leaving || seat->stem == NULL || seat->state != ZR_SEAT_TAKEN)
        zr_task_wake(seat->task, ZR_OK);
    /* Wake its own task first: then the tasks that waited here find that it watches already. */
    if (seat->refused != ZR_OK)
        zr_seat_gone(seat);
}

static enum zr_status make_room(struct zr_seat *seat)
{
    seat->counted = zr_ephemerals_take(seat->session, zr_ephemeral_bytes(seat->prefix));
    return seat->counted ? ZR_OK : ZR_FULL;
}

enum zr_status zr_seat_create(struct zr_seat *seat, struct zr_task *task)
{
    enum zr_status status = make_path(seat);
    if (status != ZR_OK)
        return status;
    status = make_room(seat);
    if (status == ZR_OK)
        status = zr_call_new_full(seat->session, ZR_OP_CREATE, seat->path, seat->data, &seat->call);
    if (status != ZR_OK) {
        forget_node(seat);
        return status;
    }
    seat->call->request.mode = seat->stem != NULL ? ZR_EPHEMERAL_SEQUENTIAL : ZR_EPHEMERAL;
    seat->call->request.answer_may_wait = seat->stem != NULL && !seat->stem->prompt;
    seat->state = ZR_SEAT_CONTENDING;
    seat->generation = seat->session->generation;
    seat->czxid = 0;
    seat->word = 0;
    seat->task = task;
    seat->leaving = false;
    task->asking = true;
    zr_call_start(seat->call, created, seat);
    return ZR_OK;
}

/* The text behind this tag in the name, if that is a number; otherwise null. */
static const char *number_behind(const char *name, const char *tag, size_t length)
{
    bool tagged = strncmp(name, tag, length) == 0;
    return tagged && zr_is_sequence(name + length) ? name + length : NULL;
}

bool zr_seat_guess(struct zr_seat *seat, const struct zr_names *names)
{
    const char *tag = strrchr(seat->path, '/') + 1, *next = NULL;
    char *last = seat->path + seat->prefix;
    for (size_t i = 0; i < names->count; i++) {
        const char *number = number_behind(names->at[i], tag, (size_t)(last - tag));
        if (number != NULL && strcmp(number, last) > 0 &&
            (next == NULL || strcmp(number, next) < 0))
            next = number;
    }
    if (next != NULL)
        strcpy(last, next);
    return next != NULL;
}

bool zr_seat_owns(const struct zr_seat *seat, const struct zr_stat *stat)
{
    return stat->ephemeral_owner == seat->session->id &&
           (seat->czxid == 0 || seat->czxid == stat->czxid);
}

enum zr_status zr_seat_settle(struct zr_seat *seat, const struct zr_stat *stat)
{
    enum zr_status status = take(seat);
    if (status != ZR_OK)
        return status;
    seat->czxid = stat->czxid;
    zr_call_free(seat->call);
    seat->call = NULL;
    return ZR_OK;
}

void zr_seat_gone(struct zr_seat *seat)
{
    struct zr_link *link;
    seat->state = ZR_SEAT_NONE;
    forget_node(seat);
    while ((link = zr_list_shift(&seat->gone.tasks)) != NULL) {
        struct zr_task *task = ZR_HOLDER(link, struct zr_task, in_signal);
        task->word = seat->word;
        zr_task_wake(task, ZR_OK);
    }
}

void zr_seat_say(struct zr_seat *seat, int64_t word)
{
    seat->word = word;
    zr_signal_tell(&seat->gone, word);
}

/* ---- Questions ----------------------------------------------------------------------------- */

bool zr_seat_over(const struct zr_seat *seat)
{
    return seat->generation != seat->session->generation || seat->session->state == ZR_STATE_CLOSED;
}

int64_t zr_seat_index(const struct zr_seat *seat, const struct zr_seats *seats)
{
    const char *name = strrchr(seat->path, '/') + 1;
    size_t low = 0, high = seats->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (seats->at[middle].sequence < seat->sequence)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < seats->count && seats->at[low].sequence == seat->sequence; low++)
        if (strcmp(seats->at[low].name, name) == 0)
            return (int64_t)low;
    return -1;
}

struct zr_seat *zr_seat_find(const struct zr_session *session, const char *path)
{
    struct zr_node *node = zr_table_find(&session->seats, path);
    return node != NULL ? ZR_HOLDER(node, struct zr_seat, in_session) : NULL;
}
